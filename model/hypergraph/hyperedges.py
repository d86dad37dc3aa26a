"""Columns and hyperedges: which columns stand in one table, which hold one value domain.

The join graph is label-free: its edges are pairs of key columns whose values nearly contain one
another, or whose names are variants and whose values overlap (paper, section 4.1, step 3). Pairs
that the catalog or its people connect are edges whatever their values; rejected ones never are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Int
from scipy.cluster.hierarchy import DisjointSet
from torch import Tensor

from datahub_hyperjoin.model.config import Edges, Method, ModelConfig
from datahub_hyperjoin.model.hypergraph.adjacency import Adjacency
from datahub_hyperjoin.model.hypergraph.ragged import Lists
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.signals.variants import are_variants

Groups = Sequence[Int[np.ndarray, " _"]]

_MIN_SHARED = 3
"""Fewest shared values of an edge: two columns may share fewer by chance."""


@dataclass(frozen=True)
class Hypergraph:
    """A set of hyperedges over columns, as a sparse incidence."""

    columns: int
    """How many columns there are."""

    incidence: Int[Tensor, "2 entry"]
    """Pairs (column, hyperedge), sorted by hyperedge."""

    across: Bool[Tensor, " hyperedge"]
    """Whether a hyperedge spans tables; the others are one table each."""

    @classmethod
    def from_groups(cls, columns: int, *, within: Groups, across: Groups) -> "Hypergraph":
        """Builds the incidence from sets of columns.

        Args:
            columns: How many columns there are.
            within: The columns of each table.
            across: The columns of each value domain.

        Returns:
            A hypergraph whose hyperedges are those of `within`, then those of `across`.
        """
        groups = [*within, *across]
        members = np.concatenate([*groups, np.zeros(0, dtype=np.int64)])
        edges = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return cls(
            columns=columns,
            incidence=torch.from_numpy(np.stack([members, edges]).astype(np.int64)),
            across=torch.arange(len(groups)) >= len(within),
        )

    @cached_property
    def by_hyperedge(self) -> Lists:
        """The columns of each hyperedge."""
        column, edge = self.incidence
        return Lists.from_pairs(edge, column, len(self.across))

    @cached_property
    def by_column(self) -> Lists:
        """The hyperedges of each column."""
        column, edge = self.incidence
        return Lists.from_pairs(column, edge, self.columns)

    @cached_property
    def adjacency(self) -> Adjacency:
        """The columns that every two hyperedges share (paper, equation 9)."""
        return Adjacency.from_incidence(self.columns, len(self.across), self.incidence)


@dataclass(frozen=True)
class JoinGraph:
    """Pairs of key columns that look joinable without any label, and what they connect."""

    left: Int[np.ndarray, " edge"]
    right: Int[np.ndarray, " edge"]

    component: Int[np.ndarray, " column"]
    """The connected component of each column; -1 for a column without an edge."""

    @cached_property
    def components(self) -> tuple[Int[np.ndarray, " _"], ...]:
        """The columns of each component."""
        order = np.argsort(self.component, kind="stable")
        count = int(self.component.max(initial=-1)) + 1
        bounds = np.searchsorted(self.component[order], np.arange(count + 1))
        return tuple(np.split(order, bounds)[1:-1])


def _find_alike(
    lake: Lake,
    keys: Int[np.ndarray, " key"],
    overlap: ValueOverlap,
    variants: Mapping[int, str],
    config: ModelConfig,
) -> tuple[Int[np.ndarray, " edge"], Int[np.ndarray, " edge"]]:
    """Pairs of keys whose values are alike enough, strongest first."""
    is_key = np.isin(np.arange(len(lake)), keys)
    names = [profile.id.path for profile in lake.profiles]
    once = overlap.left < overlap.right
    once &= is_key[overlap.left] & is_key[overlap.right]
    left, right, weight = overlap.left[once], overlap.right[once], overlap.either_way[once]
    renamed = are_variants(names, variants, left=left, right=right) & config.uses_variants
    least = config.hypergraph.min_containment
    needed = np.where(renamed, least / 2, least)
    contained = (overlap.shared[once] >= _MIN_SHARED) & (weight >= needed)
    edges = contained if config.setting.edges is Edges.CONTAINMENT else renamed
    left, right, weight = left[edges], right[edges], weight[edges]
    order = np.lexsort((right, left, -weight))
    return left[order], right[order]


def _find_edges(
    lake: Lake,
    alike: tuple[Int[np.ndarray, " alike"], Int[np.ndarray, " alike"]],
    known: CatalogPriors,
) -> tuple[Int[np.ndarray, " edge"], Int[np.ndarray, " edge"]]:
    """Connected pairs of two tables, then those alike that no one rejected."""
    connected = known.connected
    apart = connected.once & (lake.table_of[connected.left] != lake.table_of[connected.right])
    rest = ~(connected.holds(*alike) | known.rejected.holds(*alike))
    return (
        np.concatenate([connected.left[apart], alike[0][rest]]),
        np.concatenate([connected.right[apart], alike[1][rest]]),
    )


def build_join_graph(
    lake: Lake,
    keys: Int[np.ndarray, " key"],
    *,
    overlap: ValueOverlap,
    known: CatalogPriors,
    config: ModelConfig,
    variants: Mapping[int, str] | None = None,
) -> JoinGraph:
    """Connects key columns, known pairs first, then the strongest, never beyond the greatest size.

    A chain of weak pairs would glue half a lake together; a pair whose two components are too
    large to be one is therefore left out.

    Args:
        lake: The columns.
        keys: Which of them are keys.
        overlap: Their values' overlap.
        known: Which pairs are connected, and which are rejected.
        config: What makes an edge, and how large a component may grow.
        variants: Other names that a language model gave some columns, by place.

    Returns:
        The pairs kept, and the components they make.
    """
    alike = _find_alike(lake, keys, overlap, variants or {}, config)
    left, right = _find_edges(lake, alike, known)
    sets = DisjointSet(range(len(lake)))
    kept = np.zeros(len(left), dtype=bool)
    for edge in range(len(left)):
        one, other = int(left[edge]), int(right[edge])
        if not sets.connected(one, other):
            if sets.subset_size(one) + sets.subset_size(other) > config.hypergraph.max_size:
                continue
            sets.merge(one, other)
        kept[edge] = True
    component = np.full(len(lake), -1, dtype=np.int64)
    linked = np.unique(np.concatenate([left[kept], right[kept]]))
    roots = np.array([sets[int(column)] for column in linked], dtype=np.int64)
    component[linked] = np.unique(roots, return_inverse=True)[1]
    return JoinGraph(left=left[kept], right=right[kept], component=component)


def build_hypergraph(lake: Lake, joins: JoinGraph, method: Method) -> Hypergraph:
    """One hyperedge a table, one a component of the join graph.

    Args:
        lake: The columns.
        joins: Their join graph.
        method: Which hyperedges there are.

    Returns:
        The hypergraph that inference sees.
    """
    within = [columns for columns in lake.columns_of if len(columns)]
    return Hypergraph.from_groups(
        len(lake),
        within=within if method.within_tables and method.hyperedges_at_inference else [],
        across=joins.components if method.across_tables and method.hyperedges_at_inference else [],
    )
