"""Read the names of tables and columns as words.

Names of measures, of positions in an order, and of labels refer to no key. But the small numbers of
measures and positions occur in every key of consecutive numbers, and two things of different kinds
may well have the same name or color.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, takewhile
from operator import eq

from datahub_hyperjoin.model.signals.names import (
    COUNT,
    IDENTIFIER_WORDS,
    Words,
    meaningful_words,
    noun_stem,
    stems,
    tokens,
)

_MEASURES = frozenset(
    map(
        noun_stem,
        [
            *("amount", "amt", "balance", "budget", "cost", "fee", "price", "salary", "total"),
            *("capacity", "depth", "distance", "duration", "height", "length", "size", "width"),
            *("age", "average", "avg", "pct", "percent", "percentage", "qty", "quantity", "rate"),
            *("index", "level", "line", "lineno", "order", "ordinal", "position", "priority"),
            *("rank", "score", "seq", "seqno", "sequence", "sort", "version", "weight"),
        ],
    )
)
_LABELS = frozenset(
    map(
        noun_stem,
        [
            *("caption", "color", "colour", "comment", "description", "date", "label", "name"),
            *("note", "remark", "summary", "text", "title"),
        ],
    )
)
TYPE_WORDS = frozenset(["type", "typ", "kind", "class", "model", "table", "entity"])
"""Stems that mark a column of types."""

_GLUED = ("amount", "lineno", "qty", "quantity", "seqno", "sortorder")
"""Endings of such names without separators, such as `MOVEMENTQTY`."""


def endings(words: Words) -> Iterator[str]:
    """Yield each ending of a name as one word, from the whole name on.

    >>> [*endings(("home", "airport", "id"))]
    ['homeairportid', 'airportid', 'id']
    """
    return ("".join(words[start:]) for start in range(len(words)))


def continues(name: Words, key: Words) -> bool:
    """Return whether a name is that of a key with words before it, as `master_sku` is for `sku`."""
    return bool(key) and name != key and name[-len(key) :] == key


def names_count(words: Words) -> bool:
    """Return whether a column has the name of a count, such as `num_rooms` or `room_count`."""
    return COUNT in words and IDENTIFIER_WORDS.isdisjoint(words)


def names_measure(words: Words) -> bool:
    """Return whether a column has the name of a measure or of a position in an order.

    >>> from datahub_hyperjoin.model.signals.names import stems
    >>> [names_measure(stems(name)) for name in ("unit_price", "SortOrder", "LINENO")]
    [True, True, True]
    >>> [names_measure(stems(name)) for name in ("order_id", "customer", "price_list")]
    [False, False, False]
    """
    # The last word decides, and a word such as `id` marks an identifier.
    if not words or not IDENTIFIER_WORDS.isdisjoint(words):
        return False
    return words[-1] in _MEASURES or words[-1].endswith(_GLUED)


def names_label(words: Words) -> bool:
    """Return whether a column has the name of a label, such as `name`, `first_name` or `color`.

    >>> from datahub_hyperjoin.model.signals.names import stems
    >>> [names_label(stems(name)) for name in ("NAME", "productDescription", "name_id", "code")]
    [True, True, False, False]
    """
    return bool(words) and IDENTIFIER_WORDS.isdisjoint(words) and words[-1] in _LABELS


_MIN_PREFIXED = 3
"""A first word, such as `dim`, is a prefix if at least this many table names start with it."""
_MIN_GLUED = 3
"""Minimum length of table names that are recognised in words without separators, such as `facility`
in `homefacilityid`."""
_LONGEST_FIRST = sorted(IDENTIFIER_WORDS, key=lambda word: (-len(word), word))


def table_prefixes(tables: Sequence[Words]) -> frozenset[str]:
    """Return the words, such as `dim`, with which several table names begin."""
    prefixes = Counter(words[0] for words in tables if words[1:])
    return frozenset(word for word, count in prefixes.items() if count >= _MIN_PREFIXED)


def spell(names: Iterable[Words], prefixes: AbstractSet[str]) -> list[frozenset[str]]:
    """Write each name as one word, in full and without a prefix that many tables share."""
    both = ({join_words(words), join_words(without_prefix(prefixes, words))} for words in names)
    return [frozenset(spellings - {""}) for spellings in both]


def column_words(
    paths: Sequence[str], titles: Sequence[str], spellings: Iterable[AbstractSet[str]]
) -> list[Words]:
    """Split names of columns into stems; `spellings` are those of each title of the lake."""
    # Some databases fold names to one case. Where an identifier word follows the name of a table
    # without a separator, as in `customerid`, both are words of their own.
    names = {name: name for known in spellings for name in known}
    names |= {noun_stem("".join(tokens(title))): join_words(stems(title)) for title in titles}
    names = {name: stem for name, stem in names.items() if len(name) >= _MIN_GLUED}
    parts = {word for title in titles for word in stems(title) if len(word) >= _MIN_GLUED}
    words = {
        path: tuple(part for word in stems(path) for part in _split_glued(word, names, parts))
        for path in dict.fromkeys(paths)
    }
    return [words[path] for path in paths]


def _split_glued(word: str, tables: Mapping[str, str], parts: AbstractSet[str]) -> Words:
    """Split a word that ends with a table's name and an identifier word, such as `customerid`.

    A word of a table's title may also be all that comes before, as in `zoneid` of `zone_settings`.
    """
    # What comes before the name of a table, as in `homefacilityid`, becomes a word, too.
    for marker in _LONGEST_FIRST:
        rest = word.removesuffix(marker)
        if rest == word or word in tables:
            continue
        for start in range(len(rest) - _MIN_GLUED + 1):
            if (table := noun_stem(rest[start:])) in tables:
                return (*((rest[:start],) if start else ()), tables[table], marker)
        if (part := noun_stem(rest)) in parts:
            return part, marker
    return (word,)


def without_prefix(prefixes: AbstractSet[str], words: Words) -> Words:
    """Drop the first word of a name if many table names start with this word."""
    return words[1:] if words[1:] and words[0] in prefixes else words


def join_words(words: Words) -> str:
    """Concatenate the words of a name, except numbers."""
    # A number only tells copies of a table apart.
    return "".join(word for word in words if not word.isdigit())


_SHORTEST = 2
"""Minimum number of letters of an abbreviation."""
_SAME_START = 4
"""Minimum number of letters with which two forms of a word both start, as in `Auftrag` and
`Auftraege`."""
_SHARE_OF_START = 0.6
"""Minimum share of the shorter form that this start takes up."""
_LONGEST_SHARE = 0.8
"""Maximum length of an abbreviation as a share of the word's; `contact` does not abbreviate
`contract`."""


def is_form_of(name: str, title: Words) -> bool:
    """Return whether a name abbreviates the words of a title or is another form of them.

    >>> is_form_of("cust", ("t", "customer")), is_form_of("ciudad", ("ciudade",))
    (True, True)
    >>> is_form_of("auftrag", ("auftraege",)), is_form_of("contact", ("contract",))
    (True, False)
    """
    return any(_is_form(name, word) for word in endings(title))


def _is_form(name: str, word: str) -> bool:
    if name[:1] != word[:1]:
        return False
    start = sum(1 for _ in takewhile(bool, map(eq, name, word)))
    shorter = min(len(name), len(word))
    return start >= max(_SAME_START, _SHARE_OF_START * shorter) or _abbreviates(name, word)


def _abbreviates(name: str, word: str) -> bool:
    """Return whether a name is much shorter, and a word has its letters in the same order."""
    letters = iter(word)
    is_short = _SHORTEST <= len(name) <= _LONGEST_SHARE * len(word)
    return is_short and all(letter in letters for letter in name)


def spell_out_titles(
    names: Sequence[Words],
    owners: Sequence[int],
    keys: AbstractSet[int],
    titles: Sequence[Words],
    places: Sequence[str],
) -> list[Words]:
    """Write titles for their abbreviations in names of columns, and drop that of the own table.

    If `mem_id` is the key of `members` and `boo_id` that of `bookings`, both `mem_id` and the
    reference `boo_mem_id` are called `member id`.
    """
    known = frozenset(chain.from_iterable(titles))
    own, titles_of = dict[int, str](), defaultdict[tuple[str, str], set[Words]](set)
    for column in sorted(keys):
        table, words = owners[column], meaningful_words(names[column])
        is_marked = not IDENTIFIER_WORDS.isdisjoint(names[column])
        if is_marked and words and words[0] not in known and is_form_of(words[0], titles[table]):
            own[table] = words[0]
            titles_of[places[table], words[0]].add(titles[table])
    # Where several tables have an abbreviation, it stays.
    full = {short: words for short, (words, *others) in titles_of.items() if not others}

    def write(column: int, table: int) -> Words:
        words = names[column]
        rest = words[1:] if words[:1] == (own.get(table),) else words
        rest = rest[:-1] if rest[-1:] == (own.get(table),) else rest
        words = rest if column not in keys and meaningful_words(rest) else words
        return tuple(chain(*(full.get((places[table], word), (word,)) for word in words)))

    return [write(column, table) for column, table in enumerate(owners)]
