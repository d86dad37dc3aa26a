"""What two columns share, counted on all their distinct values."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datahub_hyperjoin.normal_form import Hashes
from datahub_hyperjoin.spark.counting.sketch import Counts
from datahub_hyperjoin.tables import Cardinality, Evidence


@dataclass(frozen=True, slots=True)
class PairCounts:
    """What the rows of a column find in another; sums over parts of the values."""

    shared: int
    """Distinct values on both sides."""

    rows: int
    """Rows of the left side whose value the right side has."""

    joined: int
    """Rows of the join."""


def count_pair(left: tuple[Hashes, Counts], right: tuple[Hashes, Counts]) -> PairCounts:
    """What two columns share.

    A column's count_pair with itself says how many distinct values it has, in how many rows.

    Args:
        left: Hashes of the distinct values, ascending, and the rows of each.
        right: The same of the other column.

    Returns:
        Their count_pair, in time that the shorter side sets, times a logarithm of the longer.

    Examples:
        >>> import numpy as np
        >>> cities = np.array([3, 5, 9], np.uint64), np.array([1, 1, 1])
        >>> flights = np.array([5, 9, 11], np.uint64), np.array([20, 30, 40])
        >>> count_pair(cities, flights)
        PairCounts(shared=2, rows=2, joined=50)
    """
    if len(left[0]) > len(right[0]):
        at_right, at_left = _meeting(right[0], left[0])
    else:
        at_left, at_right = _meeting(left[0], right[0])
    rows = left[1][at_left]
    return PairCounts(len(at_left), int(rows.sum()), int(rows @ right[1][at_right]))


def evidence_of(left: PairCounts, right: PairCounts, both: PairCounts) -> Evidence:
    """What the count_pair of two columns says, for a person to judge.

    Args:
        left: Of the left column with itself.
        right: Of the right column with itself.
        both: Of the left with the right.

    Returns:
        The evidence_of. A side is unique when each of its values stands in one row.
    """
    return Evidence(
        shared=both.shared,
        left_containment=_ratio(both.shared, left.shared),
        right_containment=_ratio(both.shared, right.shared),
        cardinality=_CARDINALITY[left.shared == left.rows, right.shared == right.rows],
        left_fan_out=_ratio(both.joined, left.rows),
        right_fan_out=_ratio(both.joined, right.rows),
    )


_CARDINALITY: Mapping[tuple[bool, bool], Cardinality] = {
    (True, True): Cardinality.ONE_ONE,
    (True, False): Cardinality.ONE_MANY,
    (False, True): Cardinality.MANY_ONE,
    (False, False): Cardinality.MANY_MANY,
}


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _meeting(few: Hashes, many: Hashes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where the values of both stand, in the one and in the other."""
    if not len(many):
        nowhere = np.zeros(0, np.intp)
        return nowhere, nowhere
    places = np.minimum(np.searchsorted(many, few), len(many) - 1)
    found = np.flatnonzero(many[places] == few)
    return found, places[found]
