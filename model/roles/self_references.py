"""Find columns such as `manager_id`, which may refer to the key of their own table.

Columns of one table are compared with its key alone: most of what they share with one another, such
as the days of two dates, is no reference.
"""

import numpy as np
from jaxtyping import Bool, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import (
    Containments,
    find_unique_columns,
    may_refer,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.signals.sketches import SketchArrays
from datahub_hyperjoin.tables import DataType

_UNIQUE = 0.999
"""Minimum uniqueness of a table's key. It is below 1, because uniqueness is an estimate."""
_REPEATS = 0.95
"""Maximum uniqueness of a referring column. A column of greater uniqueness may copy the key."""


def compare_with_own_keys(lake: Lake, priors: CatalogPriors) -> Containments:
    """For each column, measure its containment in the key of its own table.

    That key is the unique column that looks most like one.

    Args:
        priors: Uniqueness of each column in the whole table.

    Returns:
        The containment of each column in the key, for those that share a value.
    """
    uniqueness = priors.uniqueness
    key_of = _best_in_table(lake, find_unique_columns(lake, priors) & (uniqueness >= _UNIQUE))
    may = [may_refer(each) and each.type is not DataType.DATE for each in lake.profiles]
    refers = np.array(may, dtype=bool)
    keys = key_of[lake.table_of]
    column = np.flatnonzero(refers & (uniqueness <= _REPEATS) & (keys >= 0))
    key = keys[column]
    sketches = [profile.sketch for profile in lake.profiles]
    pairs = zip(column.tolist(), key.tolist(), strict=True)
    shared = np.array([_count_shared(sketches[a], sketches[b]) for a, b in pairs], dtype=np.int64)
    some = shared > 0
    column, key, shared = column[some], key[some], shared[some]
    containment = SketchArrays.of(lake, sketches).containment(column, key, shared)
    return dict(zip(zip(column.tolist(), key.tolist(), strict=True), containment, strict=True))


def _best_in_table(
    lake: Lake, candidates: Bool[np.ndarray, " column"]
) -> Int[np.ndarray, " table"]:
    """For each table, return the column that looks most like its key, or -1 if there is none.

    Only the columns that `candidates` marks are considered.
    """
    best = np.full(len(lake.titles), -1)
    columns = np.flatnonzero(candidates)
    last_to_first = columns[np.argsort(-lake.standing[columns], kind="stable")]
    # Of several assignments to one table, the last one stays: that of its best column.
    best[lake.table_of[last_to_first]] = last_to_first
    return best


def _count_shared(left: bytes, right: bytes) -> int:
    one, other = np.frombuffer(left, dtype="<u8"), np.frombuffer(right, dtype="<u8")
    return len(np.intersect1d(one, other, assume_unique=True))
