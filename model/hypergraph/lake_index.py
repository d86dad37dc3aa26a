"""The lake index: everything that is computed about a lake before training."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from datahub_hyperjoin.model.hypergraph.join_graph import JoinGraph, build_join_graph
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm import Naming
from datahub_hyperjoin.model.reference.entities import EntityOverlap
from datahub_hyperjoin.model.roles.candidates import (
    Containments,
    compare_with_named_keys,
    compare_with_own_keys,
)
from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS
from datahub_hyperjoin.model.roles.reference_trees import Correction, correct_by_trees
from datahub_hyperjoin.model.roles.references import References, Relations, find_references
from datahub_hyperjoin.model.signals.cells import CellSimilarity
from datahub_hyperjoin.model.signals.copies import Copies
from datahub_hyperjoin.model.signals.crosswalks import CrosswalkOverlap, find_crosswalks
from datahub_hyperjoin.model.signals.names import NameSimilarity, qualify
from datahub_hyperjoin.model.signals.overlap import ValueOverlap, add_form_overlap, measure_overlap
from datahub_hyperjoin.model.signals.pairs import ColumnMask, Floats, Ints, KeyInts, Masks
from datahub_hyperjoin.model.signals.priors import CatalogPriors, find_keys
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


@dataclass(frozen=True)
class LakeIndex:
    """The columns of a lake, with their similarities, join graph and hypergraph."""

    lake: Lake
    priors: CatalogPriors
    keys: KeyInts
    # The overlap of each pair of columns that share values, as written or in another form.
    overlap: ValueOverlap
    joins: JoinGraph
    features: FeatureConfig = field(default_factory=FeatureConfig)
    entity_kinds: bool = True  # whether standard codes and names in values are recognised
    roles: bool = True
    naming: Naming = field(default_factory=Naming)
    choices: Mapping[int, int] = field(default_factory=dict)
    """The key that a language model chose for a column, or `NO_KEY`."""

    copies: Copies | None = None
    """The tables that are copies of others; None if they are compared as all others."""

    def are_apart(self, left: Ints, right: Ints) -> Masks:
        """Mark the pairs of columns that do not join, as one is in a copy of a table."""
        return _are_apart(self.copies, self.priors, left, right)

    def with_decisions(self, priors: CatalogPriors) -> "LakeIndex":
        """Return a copy of the index that uses the decisions in the given catalog priors."""
        # The key columns and the join graph stay as they are.
        return self._with_same_columns(replace(self, priors=priors))

    def with_choices(self, choices: Mapping[int, int]) -> "LakeIndex":
        """Return a copy of the index in which a language model chose the keys of some columns."""
        return self._with_same_columns(replace(self, choices=choices))

    def _with_same_columns(self, other: "LakeIndex") -> "LakeIndex":
        # What depends on columns alone is not computed again.
        for name in ("names", "entities", "crosswalks", "cells", "beyond_overlap"):
            vars(other)[name] = getattr(self, name)
        return other

    @cached_property
    def names(self) -> NameSimilarity:
        """The similarity of column names."""
        # The name of an identifier includes its table's: `id` of one table is not `id` of another.
        lake = self.lake
        if not self.features.names:
            return NameSimilarity([""] * len(lake))
        titles = (lake.titles[table] for table in lake.table_of)
        return NameSimilarity([*map(qualify, titles, lake.paths)], self.naming.variants)

    @cached_property
    def entities(self) -> EntityOverlap:
        """The entities that columns share, such as countries."""
        lake = self.lake
        if not (self.features.values and self.entity_kinds):
            return EntityOverlap.empty(len(lake))
        columns = zip(lake.profiles, lake.is_text, strict=True)
        sketches = [profile.sketch if is_text else b"" for profile, is_text in columns]
        return EntityOverlap.from_sketches(sketches, lake.table_of, lake.value_hash)

    @cached_property
    def crosswalks(self) -> CrosswalkOverlap:
        """The pairs of columns that join through a crosswalk."""
        return find_crosswalks(
            self.lake, self.overlap, names=self.names, uniqueness=self.priors.uniqueness
        )

    @cached_property
    def cells(self) -> CellSimilarity:
        """The similarity of columns, measured by the trigrams in their values."""
        read = self.features.values
        return CellSimilarity([profile.sample if read else () for profile in self.lake.profiles])

    @cached_property
    def references(self) -> References:
        """Probable references from columns to keys, found before verification."""
        return self.find_references({})

    @cached_property
    def relations(self) -> Relations:
        """For each column, the key that it probably refers to, as estimated before verification."""
        return Relations.from_references(self.references, len(self.lake))

    @cached_property
    def beyond_overlap(self) -> Containments:
        """Containments in keys of the same table, and in keys that only names connect."""
        if not self.features.values:
            return {}
        found = {**compare_with_own_keys(self.lake, self.priors)}
        if self.features.names:
            found |= compare_with_named_keys(self.lake, self.priors)
        ends = np.array([*found], dtype=np.int64).reshape(-1, 2)
        apart = self.are_apart(*ends.T)
        return {pair: found[pair] for pair, no in zip(found, apart, strict=True) if not no}

    def may_share(self, left: Ints, right: Ints, shared: Floats) -> Masks:
        """Mark the pairs that share values or may do so; `shared` is the number that is known."""
        # Of pairs without values in common, only some are known to have none.
        ends = np.stack([left, right])
        return (shared > 0) | ~self._is_whole[ends].all(axis=0) | self._is_cut[ends].all(axis=0)

    @cached_property
    def _is_whole(self) -> ColumnMask:
        """The columns whose sketches hold all of their values."""
        return self.lake.mask(lambda profile: not profile.distinct_is_estimated)

    @cached_property
    def _is_cut(self) -> ColumnMask:
        """The columns of whose partners some were left out."""
        return self.overlap.least_chance > 0

    def find_references(
        self, measured: Containments, correct: Correction = correct_by_trees
    ) -> References:
        """Find the probable references from columns to keys.

        `measured` is the containment of directed pairs on all rows, where it is known. `correct`
        corrects the scores of the best candidates, where names and values are read.
        """
        found = self._weigh_clues(measured, correct)
        return found.with_choices(self.choices, len(self.lake)) if self.choices else found

    def _weigh_clues(self, measured: Containments, correct: Correction) -> References:
        if not self.roles:
            return References.empty()
        if not self.features.values:
            # Most lakes have values.
            from datahub_hyperjoin.model.roles.named_references import (  # noqa: PLC0415
                find_named_references,
            )

            return find_named_references(self.lake, self.priors)
        known = {**self.beyond_overlap, **measured}
        read = (self.lake, self.overlap, self.priors, known)
        if not self.features.names:
            return find_references(*read, DEFAULT_WEIGHTS.without_names())
        return find_references(*read, correct=correct)


def _are_apart(copies: Copies | None, priors: CatalogPriors, left: Ints, right: Ints) -> Masks:
    if not copies or not copies.groups:
        return np.zeros(np.broadcast_shapes(left.shape, right.shape), dtype=bool)
    left, right = np.broadcast_arrays(left, right)
    # What people accepted, declared or queried joins, copy or not.
    known = priors.join_probability.holds(left, right) | priors.accepted.holds(left, right)
    return copies.are_apart(left, right) & ~known


def build_lake_index(
    lake: Lake,
    config: ModelConfig,
    facts: CatalogFacts,
    say: Callable[[str], None] = logger.info,
    *,
    copies: Copies | None = None,
) -> LakeIndex:
    """Build the index of a lake from its columns and the catalog facts."""
    priors = CatalogPriors.from_facts(lake, facts)
    keys = find_keys(lake, config.keys, priors)
    overlap = measure_overlap(lake) if config.features.values else ValueOverlap.empty(len(lake))
    if config.setting.value_forms and config.features.values:
        overlap = add_form_overlap(lake, overlap)
    if copies and copies.groups:
        overlap = overlap.select(~_are_apart(copies, priors, overlap.left, overlap.right))
    naming = Naming()
    if config.llm and config.asks_for_variants:
        # Few lakes ask a language model.
        from datahub_hyperjoin.model.llm.naming import name_columns  # noqa: PLC0415

        naming = name_columns(lake, keys, config.llm, say)
    joins = build_join_graph(
        lake, keys, overlap=overlap, priors=priors, config=config, variants=naming.variants
    )
    return LakeIndex(
        lake=lake,
        priors=priors,
        keys=keys,
        overlap=overlap,
        joins=joins,
        features=config.features,
        entity_kinds=config.setting.entity_kinds,
        roles=config.setting.roles,
        naming=naming,
        copies=copies,
    )
