"""How the columns of a lake hang together, before any training."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from datahub_hyperjoin.model.hypergraph.hyperedges import (
    Hypergraph,
    JoinGraph,
    build_hypergraph,
    build_join_graph,
)
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm.naming import Naming, name_columns
from datahub_hyperjoin.model.reference.entities import EntityOverlap
from datahub_hyperjoin.model.signals.cells import CellSimilarity
from datahub_hyperjoin.model.signals.keys import find_keys
from datahub_hyperjoin.model.signals.names import NameSimilarity, qualify
from datahub_hyperjoin.model.signals.overlap import ValueOverlap, measure_overlap
from datahub_hyperjoin.model.signals.priors import CatalogPriors

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LakeIndex:
    """What is known of how the columns of a lake hang together."""

    lake: Lake
    known: CatalogPriors
    """What the catalog and its people say."""

    keys: Int[np.ndarray, " key"]
    overlap: ValueOverlap
    joins: JoinGraph
    graph: Hypergraph

    features: FeatureConfig = field(default_factory=FeatureConfig)
    """What may be read of the columns."""

    naming: Naming = field(default_factory=Naming)
    """Other names of key columns that a language model gave, if one was asked."""

    @cached_property
    def names(self) -> NameSimilarity:
        """How alike the columns' names are written; not at all, if names do not count.

        `id` of one table is none of another: both are read with their tables' names.
        """
        lake, read = self.lake, self.features.names
        titles = (lake.titles[table] for table in lake.table_of)
        names = zip(titles, (profile.id.path for profile in lake.profiles), strict=True)
        return NameSimilarity([qualify(title, name) * read for title, name in names])

    @cached_property
    def entities(self) -> EntityOverlap:
        """Which texts hold things that everyone knows; none, if values do not count."""
        lake = self.lake
        if not (self.features.values and self.features.reference):
            return EntityOverlap.empty(len(lake))
        read = zip(lake.profiles, lake.is_text, strict=True)
        sketches = [profile.sketch if is_text else b"" for profile, is_text in read]
        return EntityOverlap.from_sketches(sketches, lake.table_of)

    @cached_property
    def cells(self) -> CellSimilarity:
        """How alike the columns' cells are written; not at all, if values do not count."""
        read = self.features.values
        return CellSimilarity([profile.sample if read else () for profile in self.lake.profiles])


def build_lake_index(
    lake: Lake,
    config: ModelConfig,
    knowledge: CatalogFacts,
    say: Callable[[str], None] = logger.info,
) -> LakeIndex:
    """Connects the columns of a lake by their tables, their values and what is known of them.

    Args:
        lake: The columns.
        config: What makes a key and an edge.
        knowledge: What the catalog and its people say.
        say: Told how far a language model is, if one is asked for names.

    Returns:
        Everything that training and ranking start from.
    """
    known = CatalogPriors.from_facts(lake, knowledge)
    keys = find_keys(lake, config.keys, known)
    overlap = measure_overlap(lake) if config.features.values else ValueOverlap.empty(len(lake))
    uses_variants = config.uses_variants
    naming = name_columns(lake, keys, config.variants, say) if uses_variants else Naming()
    joins = build_join_graph(
        lake,
        keys,
        overlap=overlap,
        known=known,
        config=config,
        variants=naming.variants,
    )
    return LakeIndex(
        lake=lake,
        known=known,
        keys=keys,
        overlap=overlap,
        joins=joins,
        graph=build_hypergraph(lake, joins, config.setting),
        features=config.features,
        naming=naming,
    )
