"""Find the values that stand for a missing one in a column of keys.

A key has a value of its own in each row. Where all values but one do, and many rows share that one,
as -1, `NULL` or `n/a`, it says that there is no key. One row that is called so may be the key of
the unknown, and a value that many rows of other columns share may be a name or a code.
"""

from dataclasses import replace

import numpy as np

from datahub_hyperjoin.spark.counting.aggregate import ColumnAggregate
from datahub_hyperjoin.spark.counting.sketch import (
    NO_VALUES,
    DistinctValues,
    estimate_distinct,
    merge_values,
)
from datahub_hyperjoin.tables import DataType

MOST_PLACEHOLDERS = 3
"""Maximum number of placeholders of a column."""
FEWEST_KEYS = 10
"""Minimum number of values that show whether a column holds keys."""
_UNIQUE = 0.999
"""Minimum uniqueness of the other values; their number may be an estimate."""
FEWEST_ROWS, OTHER_KEYS = 5, 50
"""Minimum number of rows with a placeholder that no list names, and of the values beside it."""


def leave_out_placeholders(aggregate: ColumnAggregate, size: int) -> ColumnAggregate:
    """Count words such as `NA` as the column's type tells, and placeholders as nulls.

    `size` is the number of values that sketches keep.
    """
    resolved = aggregate.resolve_null_words()
    left_out = _find(aggregate, resolved, size)
    if not len(left_out):
        return resolved
    values = resolved.values
    rest = ~np.isin(values.hashes, left_out.hashes)
    return replace(
        resolved,
        nulls=resolved.nulls + int(left_out.counts.sum()),
        values=values.where(rest),
        placeholders=left_out,
    )


def _find(aggregate: ColumnAggregate, resolved: ColumnAggregate, size: int) -> DistinctValues:
    words = [aggregate.null_words] if resolved.type is DataType.TEXT else []
    known = merge_values([aggregate.markers, *words])
    values = resolved.values
    is_whole = len(values) <= size
    filled = resolved.rows - resolved.nulls
    repeated = known.where(known.counts > 1)
    if is_whole:
        # Without all values, nobody knows which of them repeat.
        is_other = ~np.isin(values.hashes, known.hashes)
        others = values.where(is_other & (values.counts >= FEWEST_ROWS))
        # Several values that repeat are groups, such as `Other Africa` and `Other Asia`.
        if len(others) == 1 and len(values) > OTHER_KEYS:
            repeated = merge_values([repeated, others])
    keys = estimate_distinct(values.hashes, size) - len(repeated)
    rows = filled - int(repeated.counts.sum())
    is_key = keys >= FEWEST_KEYS and (keys == rows if is_whole else keys >= _UNIQUE * rows)
    return repeated if len(repeated) <= MOST_PLACEHOLDERS and is_key else NO_VALUES
