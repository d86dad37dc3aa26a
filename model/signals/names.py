"""Names of tables and columns: their words, stems, variants and similarity."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, product
from unicodedata import normalize

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Int
from scipy import sparse

from datahub_hyperjoin.model.signals.pairs import Floats, Ints, PairInts, PairMask

IDENTIFIER_WORDS = frozenset(
    ["id", "ids", "identifier", "key", "code", "no", "nr", "nbr", "num", "number", "uuid", "guid"]
)
"""Tokens that mark a column as an identifier without naming what it identifies."""

COUNT = "count"
"""In the name of a count, such as `num_rooms`, `name_words` replaces the first word with this one.
"""

_NUMBER_WORDS = frozenset(["no", "nr", "nbr", "num", "number"])
_COUNTED = frozenset(["of", "children", "people"])
"""Words that mark the name of a count, as in `num_children`. Plurals do so, too."""
_MIN_PLURAL = 4  # minimum number of letters of a plural

_PROJECTED = 256  # dimensions of a name's projected trigram vector
_WORD = re.compile(r"[^\W_]+")
_SPELT_OUT = str.maketrans(
    dict(
        zip(
            "äöüßæøåœłđðþ\u0131\u0307",
            ["ae", "oe", "ue", "ss", "ae", "oe", "aa", "oe", "l", "d", "d", "th", "i", ""],
            strict=True,
        )
    )
)
"""ASCII spellings of Latin letters for which it is not enough to drop an accent. The last two are
Turkish: the dotless i, and the dot that stays when a dotted capital I becomes lower case."""
_LAST_LATIN = "\u024f"
"""The last letter of the Latin script; all letters after it belong to other scripts."""


def _starts_token(word: str, position: int) -> bool:
    before, letter = word[position - 1], word[position]
    if before.isdigit() != letter.isdigit():
        return True
    # The last capital of a run starts the next word: HTTPStatus is HTTP and Status.
    ends_acronym = before.isupper() and word[position + 1 : position + 2].islower()
    return letter.isupper() and (before.islower() or ends_acronym)


def _split_word(word: str) -> Iterator[str]:
    start = 0
    for position in range(1, len(word)):
        if _starts_token(word, position):
            yield word[start:position]
            start = position
    yield word[start:]


@lru_cache(maxsize=1 << 16)
def tokens(name: str) -> tuple[str, ...]:
    """Split a name into lower-case tokens.

    >>> tokens("CustomerID"), tokens("customer_id"), tokens("HTTPStatus2")
    (('customer', 'id'), ('customer', 'id'), ('http', 'status', '2'))
    >>> tokens("park.key"), tokens("__"), tokens("Schüler-Nr.")
    (('park', 'key'), (), ('schueler', 'nr'))
    """
    composed = name if name.isascii() else normalize("NFC", name)
    parts = (part for word in _WORD.findall(composed) for part in _split_word(word))
    return tuple(_write_in_ascii(part.lower()) for part in parts)


def name_words(name: str) -> tuple[str, ...]:
    """Split a name into tokens; write `count` for a first word such as `num` that means a count.

    >>> name_words("num_rooms"), name_words("NumberOfGuests")
    (('count', 'rooms'), ('count', 'of', 'guests'))
    >>> name_words("order_num"), name_words("num_client"), name_words("num")
    (('order', 'num'), ('num', 'client'), ('num',))
    """
    words = tokens(name)
    return (COUNT, *words[1:]) if _names_count(words) else words


def _names_count(words: tuple[str, ...]) -> bool:
    """Return whether a name means a count, like `num_rooms`, and not an ID, like `num_client`."""
    # In the singular, the noun may be a number of one thing, as French and Spanish people write it.
    if not words or words[0] not in _NUMBER_WORDS:
        return False
    return any(
        word in _COUNTED
        or (len(word) >= _MIN_PLURAL and word.endswith("s") and word[-2:] not in {"ss", "us", "is"})
        for word in words[1:]
    )


def _write_in_ascii(word: str) -> str:
    """Replace Latin letters such as `ø` with the ASCII letters that people write instead."""
    if word.isascii():
        return word
    letters = word.translate(_SPELT_OUT)
    return "".join(it if it > _LAST_LATIN else normalize("NFD", it)[0] for it in letters)


def trigrams(name: str) -> frozenset[str]:
    """Return the trigrams of a name's tokens.

    >>> sorted(trigrams("Id"))
    ['$id', 'id$']
    """
    return frozenset(
        padded[start : start + 3]
        for token in tokens(name)
        for padded in (f"${token}$",)
        for start in range(max(len(padded) - 2, 1))
    )


def qualify(table: str, name: str) -> str:
    """Prefix a generic column name such as `id` with its table's name."""
    # Other tables refer to such a column by both names, as in `customer_id`.
    words = tokens(name)
    return f"{table} {name}" if words and IDENTIFIER_WORDS.issuperset(words) else name


def _project(windows: Sequence[str]) -> Float32[np.ndarray, "window 256"]:
    """Return a random vector of 1 and -1 for each trigram."""
    # The trigram itself is the seed, so that the names of further columns change no vector.
    digests = (blake2b(window.encode(), digest_size=_PROJECTED // 8).digest() for window in windows)
    bits = np.unpackbits(np.frombuffer(b"".join(digests), dtype=np.uint8))
    return 2 * bits.reshape(len(windows), _PROJECTED).astype(np.float32) - 1


class NameSimilarity:
    """The similarity of column names: the Dice coefficient of their trigrams."""

    def __init__(self, names: Sequence[str], variants: Mapping[int, str] | None = None) -> None:
        namings = [names]
        if variants:
            namings.append([variants.get(column, name) for column, name in enumerate(names)])
        every = np.asarray([*chain(*namings)], dtype=object)
        spellings, spelling = np.unique(every, return_inverse=True)
        self._namings = np.split(spelling, len(namings))
        windows = [sorted(trigrams(str(spelling))) for spelling in spellings]
        number = {window: index for index, window in enumerate(sorted(set(chain(*windows))))}
        columns = np.array([number[window] for name in windows for window in name], dtype=np.int64)
        rows = np.repeat(np.arange(len(windows)), [len(name) for name in windows])
        ones = np.ones(len(rows), dtype=np.float32)
        self._windows = [*number] or [""]
        self._holds = sparse.csr_array((ones, (rows, columns)), (len(windows), len(self._windows)))
        self._sizes = np.array([len(name) for name in windows])

    def vectors(self) -> Float32[np.ndarray, "column 256"]:
        """Compute a vector for each name."""
        # The random projection changes cosines by about 0.1 (Johnson and Lindenstrauss, 1984).
        vectors = self._holds @ _project(self._windows)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.maximum(lengths, 1e-12)
        return vectors[self._namings[0]]

    def of(self, left: Ints, right: Ints) -> Floats:
        """Return the similarity of the two names in each pair."""
        namings = product(self._namings, self._namings)
        return np.maximum.reduce([self._compare(a[left], b[right]) for a, b in namings])

    def between(
        self, left: Int[np.ndarray, " left"], right: Int[np.ndarray, " right"]
    ) -> Float[np.ndarray, "left right"]:
        """Compare the name of every left column with the name of every right column."""
        tables = []
        for a, b in product(self._namings, self._namings):
            one, other = a[left], b[right]
            common = (self._holds[one] @ self._holds[other].T).toarray()
            sizes = self._sizes[one][:, None] + self._sizes[other]
            tables.append(2 * common / np.maximum(sizes, 1))
        return np.maximum.reduce(tables)

    def _compare(self, left: Ints, right: Ints) -> Floats:
        count = len(self._sizes)
        # Many columns share a name, so each pair of spellings is compared once.
        inverse, distinct = pd.factorize((left * count + right).ravel())
        first, second = distinct // count, distinct % count
        common: Float[np.ndarray, " distinct"] = (
            self._holds[first].multiply(self._holds[second]).sum(axis=1)
        )
        # A name without letters and digits has no trigrams.
        dice = 2 * common / np.maximum(self._sizes[first] + self._sizes[second], 1)
        return dice[inverse].reshape(left.shape)


_ENDINGS = (
    ("ies", "y"),
    ("ie", "y"),
    ("sses", "ss"),
    ("shes", "sh"),
    ("ches", "ch"),
    ("che", "ch"),
    ("xes", "x"),
    ("uses", "u"),
    ("use", "u"),
    ("sis", "se"),
)
"""Endings of nouns, with their replacements. Both `-uses` and `-use` become `-u`, because a plural
in `-uses` may come from a noun in `-us`, such as `status`, or in `-use`, such as `warehouse`."""
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}
"""Nouns with irregular plurals."""
_KEY_WORDS = IDENTIFIER_WORDS | {"fk", "pk", "ptr", "rowid"}
"""Words, such as `id` or `fk`, that mark keys and references but do not name what they identify."""

Words = tuple[str, ...]


def noun_stem(word: str) -> str:
    """Reduce an English noun to a stem that singular and plural share.

    >>> noun_stem("countries"), noun_stem("country"), noun_stem("class")
    ('country', 'country', 'class')
    >>> noun_stem("warehouses") == noun_stem("warehouse"), noun_stem("statuses")
    (True, 'statu')
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > _MIN_PLURAL:
        for ending, rest in _ENDINGS:
            if word.endswith(ending):
                return word.removesuffix(ending) + rest
    is_plural = len(word) >= _MIN_PLURAL and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if is_plural else word


def stems(name: str) -> Words:
    """Split a name into words, and reduce each word to its stem."""
    return tuple(noun_stem(word) for word in name_words(name))


def meaningful_words(words: Words) -> Words:
    """Drop the words of a name that carry no meaning, such as `id`, `code` and `fk`."""
    return tuple(word for word in words if word not in _KEY_WORDS)


_SYNONYMS = (
    ("id", "identifier", "key", "code", "no", "num", "number", "nbr"),
    ("name", "title", "label", "nm"),
    ("customer", "client", "cust"),
    ("employee", "staff", "emp"),
    ("country", "nation", "ctry"),
    ("state", "province", "region"),
    ("product", "item", "article", "prod"),
    ("company", "organization", "org", "firm"),
    ("department", "dept", "division"),
    ("location", "place", "loc", "site"),
    ("currency", "ccy", "curr"),
    ("language", "lang"),
    ("date", "day", "dt"),
    ("category", "class", "type", "kind"),
    ("city", "town", "municipality"),
    ("person", "people", "individual"),
    ("team", "club", "squad"),
    ("address", "addr"),
)
_GROUP = {word: group for group in _SYNONYMS for word in group}

_REWORDED, _ABBREVIATED = 0.4, 0.4
"""Share of variants with synonyms, and share of variants with shortened words."""
_SHORTEST = 3
"""Minimum number of letters of a shortened word; words of this length are not shortened."""
_TRUNCATED = 0.5
"""Share of abbreviations that keep only the start of a word. Other abbreviations drop vowels."""

_STYLES: tuple[Callable[[list[str]], str], ...] = (
    "_".join,
    "-".join,
    ".".join,
    " ".join,
    "".join,
    lambda parts: "_".join(parts).upper(),
    lambda parts: "".join(part.capitalize() for part in parts),
    lambda parts: parts[0] + "".join(part.capitalize() for part in parts[1:]),
)


def _abbreviate(token: str, random: np.random.Generator) -> str:
    if len(token) <= _SHORTEST:
        return token
    if random.random() < _TRUNCATED:
        return token[: int(random.integers(_SHORTEST, len(token)))]
    return token[0] + "".join(letter for letter in token[1:] if letter not in "aeiou")


def vary_name(name: str, random: np.random.Generator) -> str:
    """Change a column's name at random, but keep its meaning."""
    # A name without letters and digits stays as it is.
    parts = list(tokens(name))
    if not parts:
        return name
    if random.random() < _REWORDED:
        # A word without synonyms draws nothing.
        parts = [str(random.choice(_GROUP[part])) if part in _GROUP else part for part in parts]
    if random.random() < _ABBREVIATED:
        parts = [_abbreviate(part, random) for part in parts]
    return _STYLES[int(random.integers(len(_STYLES)))](parts)


def canonical(name: str) -> tuple[str, ...]:
    """Replace the words of a name with standard synonyms."""
    return tuple(_GROUP.get(token, (token,))[0] for token in tokens(name))


def are_variants(
    names: Sequence[str], variants: Mapping[int, str], *, left: PairInts, right: PairInts
) -> PairMask:
    """For each pair of columns, return whether both names have the same meaning.

    >>> pair = {"left": np.array([0, 0]), "right": np.array([1, 2])}
    >>> are_variants(["customer", "client", "buyer"], {}, **pair).tolist()
    [True, False]
    >>> are_variants(["customer", "client", "buyer"], {2: "cust"}, **pair).tolist()
    [True, True]
    """
    # Compare numbers of meanings instead of token tuples: pairs can be many, names are few.
    spellings = [*names, *(variants.get(column, name) for column, name in enumerate(names))]
    meanings = ["\0".join(canonical(spelling)) for spelling in spellings]
    _, numbers = np.unique(meanings, return_inverse=True)
    name, variant = np.split(numbers, 2)
    return (
        (name[left] == name[right])
        | (name[left] == variant[right])
        | (variant[left] == name[right])
        | (variant[left] == variant[right])
    )
