"""Recognise the names of measures, of positions in an order, and of labels.

Such columns refer to no key. But the small numbers of measures and positions occur in every key of
consecutive numbers, and two things of different kinds may well have the same name or color.
"""

from datahub_hyperjoin.model.signals.names import COUNT, IDENTIFIER_WORDS, Words, noun_stem

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
_GLUED = ("amount", "lineno", "qty", "quantity", "seqno", "sortorder")
"""Endings of such names without separators, such as `MOVEMENTQTY`."""


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
