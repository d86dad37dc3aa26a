"""Divide the columns of a lake into groups, and list the columns of many groups at once."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Int

_Item = TypeVar("_Item", bound=Hashable)


@dataclass(frozen=True)
class Partition:
    """The columns of a lake, each in one of several groups, such as its table."""

    group_of: Int[np.ndarray, " column"]
    members: Int[np.ndarray, " column"]
    """Columns, sorted by their group, then by their index."""

    starts: Int[np.ndarray, " bound"]
    """Start of each group in `members`, then the length of `members`."""

    @classmethod
    def of(cls, group_of: Int[np.ndarray, " column"], groups: int) -> "Partition":
        """List the columns of each group."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(group_of, minlength=groups))])
        return cls(group_of, np.argsort(group_of, kind="stable"), starts)

    @cached_property
    def sizes(self) -> Int[np.ndarray, " group"]:
        """The number of columns in each group."""
        return np.diff(self.starts)

    @cached_property
    def first(self) -> Int[np.ndarray, " group"]:
        """The first column of each group; no group may be empty."""
        return self.members[self.starts[:-1]]

    def count(self, mask: Bool[np.ndarray, " column"]) -> Int[np.ndarray, " group"]:
        """Count the columns of each group that a mask selects."""
        return np.bincount(self.group_of[mask], minlength=len(self.sizes))


def number_distinct(items: Iterable[_Item]) -> tuple[list[_Item], Int[np.ndarray, " item"]]:
    """Number the distinct items in the order in which they first occur.

    Returns:
        The distinct items, and for each item the position of its equal among them.

    >>> distinct, numbers = number_distinct(["b", "a", "b"])
    >>> distinct, numbers.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    numbers: dict[_Item, int] = {}
    of_item = np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)
    return [*numbers], of_item


def concatenate_ranges(
    starts: Int[np.ndarray, " range"], sizes: Int[np.ndarray, " range"]
) -> Int[np.ndarray, " number"]:
    """Concatenate ranges of consecutive numbers.

    Args:
        sizes: The number of numbers in each range.

    >>> concatenate_ranges(np.array([5, 1]), np.array([2, 3])).tolist()
    [5, 6, 1, 2, 3]
    """
    ends = np.cumsum(sizes)
    count = int(ends[-1]) if len(ends) else 0
    return np.arange(count) + np.repeat(starts - (ends - sizes), sizes)
