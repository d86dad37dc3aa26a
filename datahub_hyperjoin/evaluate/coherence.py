r"""Compute how coherent a ranking is: whether its candidates join with each other.

Coherence is the share of candidate pairs that join with each other.

The ground truth lists the columns that join with each query column, $R^*(r)$, and nothing about
other pairs. Columns that join with the same column are assumed to join with one another: two
columns are coherent if some query column r has both in $\{r\} \cup R^*(r)$. Coherence@K is the
share of coherent pairs among the first K candidates.

This has two limits. A pair that joins counts as incoherent if no query column joins with both.
And joining is not always transitive: two columns that are both contained in a third need not share
a value. Coherence also ignores the query column itself: wrong candidates can be very coherent.
Read it beside precision.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName


class JoinedGroups:
    """Groups of columns that join with each other, one group for each query column.

    Args:
        truth: The columns that join with each query column.
    """

    def __init__(self, truth: Mapping[ColumnName, frozenset[ColumnName]]) -> None:
        self._groups: defaultdict[ColumnName, set[ColumnName]] = defaultdict(set)
        for query, joining in truth.items():
            for column in (query, *joining):
                self._groups[column].add(query)

    def coherence(self, candidates: Sequence[ColumnName]) -> float:
        """Return the share of candidate pairs whose two columns belong to the same group.

        Args:
            candidates: The first K candidates of one query column.

        Returns:
            In [0, 1]; 0 for fewer than two candidates, which form no pair.

        >>> a, b, c, d = (ColumnName(table, "x") for table in "abcd")
        >>> round(JoinedGroups({a: frozenset({b, c})}).coherence([b, c, d]), 3)
        0.333
        """
        pairs = list(combinations(candidates, 2))
        coherent = sum(self._share_group(*pair) for pair in pairs)
        return coherent / len(pairs) if pairs else 0.0

    def _share_group(self, left: ColumnName, right: ColumnName) -> bool:
        # Not self._groups[...]: a defaultdict would store an empty group for each lookup.
        none: set[ColumnName] = set()
        return not self._groups.get(left, none).isdisjoint(self._groups.get(right, none))
