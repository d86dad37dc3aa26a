"""Read the names of tables and columns as words.

Names of measures, of positions in an order, and of labels refer to no key. But the small numbers of
measures and positions occur in every key of consecutive numbers, and two things of different kinds
may well have the same name or color.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from datahub_hyperjoin.model.signals.names import COUNT, IDENTIFIER_WORDS, Words, noun_stem, stems

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


def column_words(paths: Sequence[str], titles: Iterable[AbstractSet[str]]) -> list[Words]:
    """Split names of columns into stems; `titles` are the spellings of each table of the lake."""
    # Some databases fold names to lower case. Where an identifier word follows the name of a table
    # without a separator, as in `customerid`, both are words of their own.
    known = {name for names in titles for name in names if len(name) >= _MIN_GLUED}
    words = {
        path: tuple(part for word in stems(path) for part in _split_glued(word, known))
        for path in dict.fromkeys(paths)
    }
    return [words[path] for path in paths]


def _split_glued(word: str, tables: AbstractSet[str]) -> Words:
    """Split a word that ends with a table's name and an identifier word, such as `customerid`."""
    # What comes before them, as in `homefacilityid`, becomes a word, too.
    for marker in _LONGEST_FIRST:
        rest = word.removesuffix(marker)
        if rest == word or word in tables:
            continue
        for start in range(len(rest) - _MIN_GLUED + 1):
            if (table := noun_stem(rest[start:])) in tables:
                return (*((rest[:start],) if start else ()), table, marker)
    return (word,)


def without_prefix(prefixes: AbstractSet[str], words: Words) -> Words:
    """Drop the first word of a name if many table names start with this word."""
    return words[1:] if words[1:] and words[0] in prefixes else words


def join_words(words: Words) -> str:
    """Concatenate the words of a name, except numbers."""
    # A number only tells copies of a table apart.
    return "".join(word for word in words if not word.isdigit())
