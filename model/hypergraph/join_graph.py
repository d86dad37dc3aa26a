"""The join graph, whose nodes are key columns and whose edges are probable joins.

An edge connects two key columns whose values nearly contain one another, or whose names are
variants and whose values overlap (paper, section 4.1, step 3). Pairs that the catalog or its users
connect are edges whatever their values; rejected pairs are never edges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from datahub_hyperjoin.model.config import Edges, Method, ModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import are_variants
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.pairs import (
    ColumnInts,
    KeyInts,
    PairInts,
    PairMask,
    SomeInts,
    chunks,
    group_equal,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors


class DisjointSets:
    """Disjoint sets that hold the connected components of a growing graph (Tarjan, 1975)."""

    # SciPy's `DisjointSet` gives the same roots. It is several times as slow, and its import takes
    # longer than the join graph of a small lake.

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self._sizes = [1] * count

    def root(self, column: int) -> int:
        """Return the column that represents the connected component of a given column."""
        parents = self._parents
        while parents[column] != column:
            parents[column] = column = parents[parents[column]]
        return column

    def foresee(self, left: PairInts, right: PairInts, max_size: int) -> tuple[PairMask, PairMask]:
        """Tell for many pairs at once what `connect` will return, whatever is connected before."""
        # Components only grow: those that are one stay one, and those that are too large to be
        # merged stay so. If both results are False, it depends on the pairs that are connected
        # before.
        roots, sizes = np.array(self._parents, dtype=np.int64), np.array(self._sizes)
        while not np.array_equal(above := roots[roots], roots):
            roots = above
        first, second = roots[left], roots[right]
        is_one = first == second
        return is_one, ~is_one & (sizes[first] + sizes[second] > max_size)

    def connect(self, left: int, right: int, max_size: int) -> bool:
        """Merge the components of two columns; return False if the result would be too large."""
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


_MIN_SHARED = 3  # minimum number of shared values for an edge; fewer may be shared by chance

_COMPARED = 1 << 20
"""Number of pairs that are compared with the conditions of an edge at once, which bounds memory."""
_FIRST, _AT_ONCE = 1 << 12, 1 << 20
"""Number of pairs that are connected at once: at first, and at most, which bounds memory."""

_Pairs = tuple[SomeInts, SomeInts]
"""The left and the right columns of some pairs."""


Groups = Sequence[SomeInts]  # the columns of some hyperedges


@dataclass(frozen=True)
class JoinGraph:
    """The edges of the join graph, and its connected components."""

    left: Int[np.ndarray, " edge"]
    right: Int[np.ndarray, " edge"]
    component: ColumnInts  # the connected component of each column; -1 for a column without an edge

    @cached_property
    def components(self) -> tuple[SomeInts, ...]:
        """The columns of each connected component."""
        return tuple(group_equal(self.component))


def _find_similar(
    lake: Lake,
    keys: KeyInts,
    overlap: ValueOverlap,
    variants: Mapping[int, str],
    config: ModelConfig,
) -> _Pairs:
    """Find pairs of key columns that are similar enough for an edge of the join graph."""
    # Two names that are variants are evidence of their own, so such a pair needs only half of the
    # containment. Ties are broken by the columns, which makes the components the same in every run.
    by_values = config.setting.edges is Edges.CONTAINMENT
    least = config.hypergraph.min_containment
    # Names of the same meaning make up for half of the overlap.
    half = least / 2 if config.uses_variants else least
    left, right, weight = _pairs_of_keys(lake, keys, overlap, half if by_values else None)
    renamed = np.zeros(len(left), dtype=bool)
    if config.uses_variants:
        renamed = are_variants(lake.paths, variants, left=left, right=right)
    edges = weight >= np.where(renamed, half, least) if by_values else renamed
    left, right, weight = left[edges], right[edges], weight[edges]
    order = np.lexsort((right, left, -weight))
    return left[order], right[order]


def _pairs_of_keys(
    lake: Lake, keys: KeyInts, overlap: ValueOverlap, least: float | None
) -> tuple[SomeInts, SomeInts, Float[np.ndarray, " _"]]:
    """Find the pairs of key columns, each in one order, with the greater of their containments."""
    is_key = np.isin(np.arange(len(lake)), keys)
    none = np.zeros(0, dtype=np.int32)
    parts = [(none, none, np.zeros(0, dtype=np.float32))]
    for some in chunks(len(overlap.left), _COMPARED):
        left, right, weight = overlap.left[some], overlap.right[some], overlap.either_way(some)
        chosen = (left < right) & is_key[left] & is_key[right]
        if least is not None:
            chosen &= (overlap.shared[some] >= _MIN_SHARED) & (weight >= least)
        parts.append((left[chosen], right[chosen], weight[chosen]))
    found_left, found_right, found_weight = map(np.concatenate, zip(*parts, strict=True))
    return found_left, found_right, found_weight


def _add_priors(lake: Lake, similar: _Pairs, priors: CatalogPriors) -> _Pairs:
    """Add the pairs that the catalog or a person connects, and drop rejected pairs."""
    connected = priors.connected
    apart = connected.once & (lake.table_of[connected.left] != lake.table_of[connected.right])
    rest = ~(connected.holds(*similar) | priors.rejected.holds(*similar))
    return (
        np.concatenate([connected.left[apart], similar[0][rest]]),
        np.concatenate([connected.right[apart], similar[1][rest]]),
    )


def _keep_within_size(sets: DisjointSets, pairs: _Pairs, max_size: int) -> PairMask:
    """Mark the pairs that become edges, so that no connected component exceeds `max_size`."""
    # A chain of weak pairs would connect half a lake. Pairs come strongest first, as in Kruskal's
    # algorithm, so the maximum removes the weakest links of such a chain. A pair within one
    # component adds an edge and no column, so it always stays. Cost is nearly linear in the pairs.
    left, right = pairs
    kept = np.empty(len(left), dtype=bool)
    # The first pairs connect most columns, so that most of the others are foreseen, in arrays.
    start, count = 0, _FIRST
    while start < len(left):
        some = slice(start, start + count)
        kept[some], refused = sets.foresee(left[some], right[some], max_size)
        unsure = start + np.flatnonzero(~(kept[some] | refused))
        ends = zip(left[unsure].tolist(), right[unsure].tolist(), strict=True)
        kept[unsure] = [sets.connect(*pair, max_size) for pair in ends]
        start, count = start + count, min(2 * count, _AT_ONCE)
    return kept


def build_join_graph(
    lake: Lake,
    keys: KeyInts,
    *,
    overlap: ValueOverlap,
    priors: CatalogPriors,
    config: ModelConfig,
    variants: Mapping[int, str] | None = None,
) -> JoinGraph:
    """Build the graph of probable joins between the key columns of a lake."""
    similar = _find_similar(lake, keys, overlap, variants or {}, config)
    left, right = _add_priors(lake, similar, priors)
    sets = DisjointSets(len(lake))
    kept = _keep_within_size(sets, (left, right), config.hypergraph.max_size)
    component = np.full(len(lake), -1, dtype=np.int64)
    linked = np.unique(np.concatenate([left[kept], right[kept]]))
    roots = np.array([sets.root(column) for column in linked.tolist()], dtype=np.int64)
    component[linked] = np.unique(roots, return_inverse=True)[1]
    return JoinGraph(left=left[kept], right=right[kept], component=component)


def find_hyperedges(lake: Lake, joins: JoinGraph, method: Method) -> tuple[Groups, Groups]:
    """Group the columns of a lake by table, and by value domain, as the network reads them."""
    at_inference = method.hyperedges_at_inference
    tables = [columns for columns in lake.columns_of if len(columns)]
    within = tables if at_inference and method.within_tables else []
    return within, joins.components if at_inference and method.across_tables else []
