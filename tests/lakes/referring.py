"""Find the references in small lakes."""

from collections.abc import Mapping

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS, ReferenceWeights
from datahub_hyperjoin.model.roles.references import References, find_references
from datahub_hyperjoin.model.signals.overlap import measure_overlap
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from lakes.handmade import Tables, lake_of

NO_FACTS = CatalogFacts()
Named = Mapping[tuple[str, str], float]
"""The probability of each reference, by the referring column and the key."""


def references_of(
    lake: Lake,
    facts: CatalogFacts = NO_FACTS,
    *,
    measured: Mapping[tuple[int, int], float] | None = None,
    weights: ReferenceWeights = DEFAULT_WEIGHTS,
) -> References:
    priors = CatalogPriors.from_facts(lake, facts)
    return find_references(lake, measure_overlap(lake), priors, measured, weights)


def name(lake: Lake, references: References) -> Named:
    ids = [str(column) for column in lake.ids]
    ends = zip(references.referring.tolist(), references.referenced.tolist(), strict=True)
    likely = references.probability.tolist()
    return {(ids[a], ids[b]): p for (a, b), p in zip(ends, likely, strict=True)}


def find(
    tables: Tables, facts: CatalogFacts = NO_FACTS, *, weights: ReferenceWeights = DEFAULT_WEIGHTS
) -> set[tuple[str, str]]:
    """Return each column with the key that it refers to with a probability of at least one half."""
    lake = lake_of(tables)
    best = references_of(lake, facts, weights=weights).best
    ids = [str(column) for column in lake.ids]
    return {(ids[column], ids[key]) for column, (key, p) in best.items() if p >= 0.5}


def probability(
    tables: Tables, pair: tuple[str, str], *, weights: ReferenceWeights = DEFAULT_WEIGHTS
) -> float:
    lake = lake_of(tables)
    return name(lake, references_of(lake, weights=weights)).get(pair, 0.0)
