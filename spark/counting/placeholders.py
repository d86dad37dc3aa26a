"""Find the values that stand for a missing one in a column of keys.

A key has a value of its own in each row. Where all values but one do, and many rows share that one,
as -1, `NULL` or `n/a`, it says that there is no key. One row that is called so may be the key of
the unknown, and a value that many rows of other columns share may be a name or a code.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.normal_form import Hashes, hash_values, normal_forms
from datahub_hyperjoin.spark.counting.aggregate import ColumnAggregate
from datahub_hyperjoin.spark.counting.sketch import (
    NO_VALUES,
    DistinctValues,
    estimate_distinct,
    merge_values,
)
from datahub_hyperjoin.tables import NUMBERS

MOST_PLACEHOLDERS = 8
"""Maximum number of placeholders of a column."""
FEWEST_KEYS = 10
"""Minimum number of values that show whether a column holds keys."""
_UNIQUE = 0.999
"""Minimum uniqueness of the other values; their number may be an estimate."""
FEWEST_ROWS, OTHER_KEYS = 5, 50
"""Minimum number of rows with a placeholder that no list names, and of the values beside it."""


_HIDDEN = "\0"


def hide(text: str) -> str:
    """Replace a placeholder that may be secret with its hash.

    >>> hashes_of([hide("ada@example.org")]) == hashes_of(["ada@example.org"])
    array([ True])
    """
    return f"{_HIDDEN}{hashes_of([text])[0]}"


def hashes_of(placeholders: Iterable[str]) -> Hashes:
    """Hash placeholders, of which some may be hidden."""
    texts = {*placeholders}
    plain = sorted(text for text in texts if not text.startswith(_HIDDEN))
    known = np.array(
        [int(text.removeprefix(_HIDDEN)) for text in texts.difference(plain)], np.uint64
    )
    return np.concatenate([known, hash_values(normal_forms(pa.array(plain, pa.string())))])


def leave_out_placeholders(aggregate: ColumnAggregate, size: int) -> ColumnAggregate:
    """Count words such as `NA` as the column's type tells, and placeholders as nulls.

    `size` is the number of values that sketches keep.
    """
    resolved = aggregate.resolve_null_words()
    left_out = _find(resolved, size)
    if not len(left_out):
        # `nan` is null here, but equals itself in columns of floating-point numbers of a database.
        missing = _missing_numbers(aggregate, resolved)
        return replace(resolved, placeholders=missing) if len(missing) else resolved
    values = resolved.values
    rest = ~np.isin(values.hashes, left_out.hashes)
    return replace(
        resolved,
        nulls=resolved.nulls + int(left_out.counts.sum()),
        values=values.where(rest),
        placeholders=merge_values([left_out, _missing_numbers(aggregate, resolved)]),
    )


def _missing_numbers(aggregate: ColumnAggregate, resolved: ColumnAggregate) -> DistinctValues:
    words = aggregate.null_words
    if not len(words) or resolved.type not in NUMBERS:
        return NO_VALUES
    return words.where(words.counts > 1)


def _find(resolved: ColumnAggregate, size: int) -> DistinctValues:
    known, values = resolved.markers, resolved.values
    is_whole = len(values) <= size
    filled = resolved.rows - resolved.nulls
    repeated = known.where(known.counts > 1)
    # Without all values, nobody knows which of them repeat. Texts of which each is in one row only
    # may be equal in their normal forms.
    if is_whole and len(values) > OTHER_KEYS and not resolved.is_exact:
        is_often = values.counts >= FEWEST_ROWS
        # Several values that repeat are groups, such as `Other Africa` and `Other Asia`.
        if 0 < np.count_nonzero(is_often) <= len(known) + 1:
            often = values.where(is_often)
            others = often.where(~np.isin(often.hashes, known.hashes))
            repeated = merge_values([repeated, others]) if len(others) == 1 else repeated
    if not len(repeated):
        return NO_VALUES
    keys = estimate_distinct(values.hashes, size) - len(repeated)
    rows = filled - int(repeated.counts.sum())
    is_unique = keys == rows if is_whole else keys >= _UNIQUE * rows
    is_key = rows >= FEWEST_KEYS and (is_unique or resolved.is_exact)
    return repeated if len(repeated) <= MOST_PLACEHOLDERS and is_key else NO_VALUES
