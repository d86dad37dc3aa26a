r"""How well the answers to a query fit together, by the truth's own join graph.

The truth says which columns join with a query, $R^*(r)$, and nothing of other pairs. What joins
with one column is taken to join with each other: two columns cohere if some query r has both in
$\{r\} \cup R^*(r)$. Coherence@K is the share of coherent pairs among the first K answers.

Two limits follow. Pairs that join, but with no query, count as if they did not. And joining is not
always transitive: two columns whose values lie in a third one's need not share any. Coherence says
nothing of the query either: answers to another question may fit together very well. Read it beside
precision.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from datahub_hyperjoin.evaluate.suite import ColumnName


class TruthGraph:
    """What the truth says of pairs of columns.

    Args:
        truth: Every query, and the columns that join with it.
    """

    def __init__(self, truth: Mapping[ColumnName, frozenset[ColumnName]]) -> None:
        self._circles: defaultdict[ColumnName, set[ColumnName]] = defaultdict(set)
        for query, gold in truth.items():
            for column in (query, *gold):
                self._circles[column].add(query)

    def coherence(self, answers: Sequence[ColumnName]) -> float:
        """The share of pairs that cohere.

        Args:
            answers: The first K answers to one query.

        Returns:
            In [0, 1]; 0 of fewer than two answers, which hold no pair.

        >>> a, b, c, d = (ColumnName(table, "x") for table in "abcd")
        >>> round(TruthGraph({a: frozenset({b, c})}).coherence([b, c, d]), 3)
        0.333
        """
        pairs = list(combinations(answers, 2))
        joined = sum(self._joined(*pair) for pair in pairs)
        return joined / len(pairs) if pairs else 0.0

    def _joined(self, one: ColumnName, other: ColumnName) -> bool:
        nothing: set[ColumnName] = set()
        return not self._circles.get(one, nothing).isdisjoint(self._circles.get(other, nothing))
