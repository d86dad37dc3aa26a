"""Keep track of the connected components of a growing graph."""

import numpy as np
from jaxtyping import Bool, Int


class DisjointSets:
    """Disjoint sets that hold the connected components of a growing graph (Tarjan, 1975).

    SciPy's `DisjointSet` gives the same roots. It is several times as slow, and its import takes
    longer than the join graph of a small lake.

    Args:
        count: Number of columns; each starts as a component of its own.

    Examples:
        >>> sets = DisjointSets(4)
        >>> sets.connect(0, 1, max_size=2), sets.connect(1, 2, max_size=2)
        (True, False)
        >>> sets.root(0) == sets.root(1), sets.root(0) == sets.root(2)
        (True, False)
    """

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self._sizes = [1] * count

    def root(self, column: int) -> int:
        """Return the column that represents the connected component of a given column."""
        parents = self._parents
        while parents[column] != column:
            parents[column] = column = parents[parents[column]]
        return column

    def foresee(
        self, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"], max_size: int
    ) -> tuple[Bool[np.ndarray, " pair"], Bool[np.ndarray, " pair"]]:
        """Tell for many pairs at once what `connect` will return, whatever is connected before.

        Components only grow: those that are one stay one, and those that are too large to be merged
        stay so.

        Returns:
            Whether `connect` will return True for each pair, and whether it will return False. If
            both are False, it depends on the pairs that are connected before.
        """
        roots, sizes = np.array(self._parents, dtype=np.int64), np.array(self._sizes)
        while not np.array_equal(above := roots[roots], roots):
            roots = above
        first, second = roots[left], roots[right]
        is_one = first == second
        return is_one, ~is_one & (sizes[first] + sizes[second] > max_size)

    def connect(self, left: int, right: int, max_size: int) -> bool:
        """Merge the components of two columns; return False if the result would be too large.

        Args:
            max_size: Components that together have more columns are not merged.
        """
        first, second = self.root(left), self.root(right)
        if first == second:
            return True
        sizes = self._sizes
        if sizes[first] + sizes[second] > max_size:
            return False
        # The root is that of the larger component, and of two equal ones the first column.
        if (sizes[first], second) < (sizes[second], first):
            first, second = second, first
        self._parents[second] = first
        sizes[first] += sizes[second]
        return True
