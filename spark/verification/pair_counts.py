"""Count the shared values and matching rows of two columns."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.normal_form import Hashes
from datahub_hyperjoin.spark.counting.sketch import Counts


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The counts of values and rows that describe a join of two columns.

    They cover all values or one hash partition.
    """

    shared: int
    """Number of distinct values that occur on both sides."""

    rows: int
    """Number of rows on the left side with a value that also occurs on the right side."""

    joined: int
    """Number of rows that the join returns."""


def count_pair(left: tuple[Hashes, Counts], right: tuple[Hashes, Counts]) -> PairCounts:
    """Count the shared values and matching rows of two columns.

    The counts of a column with itself are its number of distinct values and of rows with a value.

    Args:
        left: Hashes of the distinct values, ascending, and the number of rows of each.

    Returns:
        The counts. With n values on the shorter and N on the longer side, this takes n log N steps.

    Examples:
        >>> import numpy as np
        >>> cities = np.array([3, 5, 9], np.uint64), np.array([1, 1, 1])
        >>> flights = np.array([5, 9, 11], np.uint64), np.array([20, 30, 40])
        >>> count_pair(cities, flights)
        PairCounts(shared=2, rows=2, joined=50)
    """
    if left is right:
        rows = left[1]
        return PairCounts(len(rows), int(rows.sum()), int(rows @ rows))
    # The longer side is searched: n log N steps instead of N log n.
    if len(left[0]) > len(right[0]):
        at_right, at_left = _intersect(right[0], left[0])
    else:
        at_left, at_right = _intersect(left[0], right[0])
    rows = left[1][at_left]
    return PairCounts(len(at_left), int(rows.sum()), int(rows @ right[1][at_right]))


def evidence_of(left: PairCounts, right: PairCounts, both: PairCounts) -> Evidence:
    """Compute the evidence for a join from the counts of each column and of the pair.

    Returns:
        The evidence. A side is unique if it has as many rows with a value as distinct values.
    """
    return Evidence(
        shared=both.shared,
        left_containment=_ratio(both.shared, left.shared),
        right_containment=_ratio(both.shared, right.shared),
        cardinality=_CARDINALITY[left.shared == left.rows, right.shared == right.rows],
        left_fan_out=_ratio(both.joined, left.rows),
        right_fan_out=_ratio(both.joined, right.rows),
        rows=both.joined,
    )


_CARDINALITY: Mapping[tuple[bool, bool], Cardinality] = {
    (True, True): Cardinality.ONE_ONE,
    (True, False): Cardinality.ONE_MANY,
    (False, True): Cardinality.MANY_ONE,
    (False, False): Cardinality.MANY_MANY,
}
"""Maps the uniqueness of the left and of the right side to the cardinality of the join."""


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _intersect(few: Hashes, many: Hashes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Find the positions of shared values in two sorted arrays.

    This is a binary search in the longer array for each value of the shorter.
    """
    if not len(many):
        empty = np.zeros(0, np.intp)
        return empty, empty
    positions = np.minimum(np.searchsorted(many, few), len(many) - 1)
    shared = np.flatnonzero(many[positions] == few)
    return shared, positions[shared]
