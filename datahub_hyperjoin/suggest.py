"""The way of the data, from tables to suggestions: a line a stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from datahub_hyperjoin import __version__
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.encode import Encoding, encode
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm.naming import Naming
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.model.reference.lexicon import load_lexicon
from datahub_hyperjoin.model.saved.training_state import Epoch
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import (
    ColumnId,
    DataType,
    Evidence,
    Join,
    Pair,
    Suggestion,
    Table,
    TableId,
    TableProfile,
    pair_of,
)
from datahub_hyperjoin.wording import name_some

_NOTHING = CatalogFacts()


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a run found."""

    profiles: tuple[TableProfile, ...]
    """Every table, those with a fault included, with the columns that the catalog has."""

    keys: tuple[ColumnId, ...]
    """The columns asked about."""

    suggestions: tuple[Suggestion, ...]
    """Key by key, best first; only what the data or a person confirms."""

    joins: tuple[Join, ...]
    """The same without direction, with evidence, best first."""

    model_version: str
    """What made them: this package's version and the model's fingerprint."""

    @cached_property
    def faulty(self) -> frozenset[TableId]:
        """Tables that could not be read."""
        return frozenset(profile.table.id for profile in self.profiles if profile.fault)

    @cached_property
    def types(self) -> Mapping[ColumnId, DataType]:
        """What the values of each column are."""
        return {column.id: column.type for table in self.profiles for column in table.columns}


def read_profiles(
    tables: Sequence[Table], session: Session, config: ProfileConfig, progress: Progress
) -> tuple[TableProfile, ...]:
    """Reads every table once, or not at all if it is kept as it is.

    Args:
        tables: What the catalog knows.
        session: Reads them; not asked for if nothing is to be read.
        config: How much of them, and where profiles are kept.
        progress: Told of counts and faults.

    Returns:
        One profile a table, those with a fault included.
    """
    store = Store(config)
    kept = store.profiles(tables)
    new = [table for table in tables if table.id not in kept]
    read = profile_lake(session(), new, config) if new else []
    known = kept | {profile.table.id: profile for profile in read}
    profiles = tuple(known[table.id] for table in tables)
    store.keep_profiles(profiles)
    progress.count("tables_from_profile_store", len(kept))
    for profile in profiles:
        name = str(profile.table.id)
        if profile.fault:
            progress.count("tables_skipped", 1)
            progress.warn(
                "Table skipped",
                "It gets no suggestions; the others do",
                f"{name}: {profile.fault}, or leave it out with `{profile.table.chosen_by}`",
            )
            continue
        progress.count("tables_profiled", 1)
        progress.count("columns_profiled", len(profile.columns))
        for note in profile.notes:
            progress.warn(
                "Table read with care",
                "Its suggestions rest on what could be read",
                f"{name}: {note}",
            )
    return profiles


def _leave_out_unknown(
    profiles: Sequence[TableProfile], knowledge: CatalogFacts, progress: Progress
) -> tuple[TableProfile, ...]:
    """Drops columns that the catalog does not have: nothing could be said of them there."""
    kept = []
    for profile in profiles:
        names = knowledge.columns.get(profile.table.id)
        if names is None:
            kept.append(profile)
            continue
        known = tuple(column for column in profile.columns if column.id.path in names)
        kept.append(replace(profile, columns=known))
        unknown = [column.id.path for column in profile.columns if column.id.path not in names]
        if unknown:
            progress.warn(
                "Column not in the catalog",
                "It gets no suggestions; ingest its table again to change that",
                f"{profile.table.id}: {name_some(unknown)}",
            )
    return tuple(kept)


def _report_names(naming: Naming, progress: Progress) -> None:
    counts = naming.counts
    progress.count("llm_names_requested", counts.requested)
    progress.count("llm_names_received", counts.received)
    progress.count("llm_names_from_cache", counts.cached)
    progress.count("names_by_rules", counts.by_rules)
    progress.count("llm_requests", counts.requests)
    progress.count("llm_tokens", counts.tokens)
    progress.count("llm_cost", counts.cost)
    for failure in naming.failures:
        progress.warn(failure.title, failure.message, failure.context)


def index_lake(
    profiles: Sequence[TableProfile],
    config: ModelConfig,
    knowledge: CatalogFacts,
    progress: Progress,
) -> LakeIndex:
    """Builds the hypergraph of a lake.

    Args:
        profiles: Its tables.
        config: What makes a key and an edge.
        knowledge: What the catalog says of columns and pairs, and what people decided.
        progress: Told of counts.

    Returns:
        Everything that training and ranking start from.
    """
    lake = Lake.from_tables(profiles)
    structure = build_lake_index(lake, config, knowledge, progress.say)
    if config.variants.llm:
        _report_names(structure.naming, progress)
    graph, components = structure.graph, structure.joins.components
    progress.count("key_columns", len(structure.keys))
    progress.count("hyperedges_within_tables", int((~graph.across).sum()))
    progress.count("hyperedges_across_tables", int(graph.across.sum()))
    progress.count("largest_hyperedge_across_tables", max(map(len, components), default=0))
    return structure


def embed(structure: LakeIndex, config: ModelConfig, progress: Progress) -> Encoding:
    """Trains the network, or reads the one that the same data was learnt by, and encodes columns.

    Args:
        structure: The lake.
        config: How to train, and where the model is kept.
        progress: Told of every epoch, and whether one was trained.

    Returns:
        One embedding a column.

    Raises:
        ModelError: No network can be trained on these tables.
    """

    def watch(epoch: Epoch) -> None:
        if epoch.resumed:
            before = epoch.number - 1
            progress.say(f"Training goes on after epoch {before}, where an earlier run ended")
        left = epoch.seconds * (config.training.epochs - epoch.number)
        progress.say(
            f"Epoch {epoch.number} of at most {config.training.epochs}: loss {epoch.loss:.3f}, "
            f"held-out recall {epoch.recall:.2f}, at most {left:.0f} s left"
        )

    encoding = encode(structure, config, watch)
    progress.count("models_trained", int(encoding.trained))
    return encoding


def _pair(suggestion: Suggestion) -> Pair:
    return pair_of(suggestion.query, suggestion.candidate)


def _kinds(structure: LakeIndex, pairs: Sequence[Pair]) -> dict[Pair, str]:
    """What pairs hold things of, where both columns are recognised."""
    place = {column: at for at, column in enumerate(structure.lake.ids)}
    found = ((pair, structure.entities.kind(*(place[end] for end in pair))) for pair in pairs)
    return {pair: kind for pair, kind in found if kind}


def _verify(
    pairs: Sequence[Pair],
    tables: Sequence[Table],
    session: Session,
    config: ProfileConfig,
    structure: LakeIndex,
) -> dict[Pair, Evidence]:
    """What the data says of pairs, as it is kept or as it is read."""
    store, kinds = Store(config), _kinds(structure, pairs)
    kept = store.evidence(pairs, tables, kinds)
    new = [pair for pair in pairs if pair not in kept]
    known = ColumnKinds(
        kinds=kinds,
        synonyms={
            kind: load_lexicon().synonyms(kind) for kind in {kinds[p] for p in new if p in kinds}
        },
        texts=_texts(structure),
    )
    read = verify_joins(session(), tables, new, kinds=known, config=config) if new else {}
    store.keep_evidence(kept | read, tables, kinds)
    return kept | read


def _texts(structure: LakeIndex) -> frozenset[ColumnId]:
    lake = structure.lake
    return frozenset(id_ for id_, text in zip(lake.ids, lake.is_text, strict=True) if text)


def _confirm(
    suggestions: Sequence[Suggestion],
    evidence: Mapping[Pair, Evidence],
    *,
    least: float,
    accepted: frozenset[Pair],
) -> tuple[Suggestion, ...]:
    """Drops what the data refutes unless a person accepted it, and closes the gaps in the ranks."""

    def confirmed(suggestion: Suggestion) -> bool:
        found = evidence.get(_pair(suggestion))
        if found is None or _pair(suggestion) in accepted:
            return found is not None
        return found.containment >= least

    kept = filter(confirmed, suggestions)
    return tuple(
        replace(suggestion, rank=place)
        for _, group in groupby(kept, key=lambda suggestion: suggestion.query)
        for place, suggestion in enumerate(group, start=1)
    )


def _joins(
    suggestions: Sequence[Suggestion], evidence: Mapping[Pair, Evidence], knowledge: CatalogFacts
) -> tuple[Join, ...]:
    best: dict[Pair, float] = {}
    for suggestion in suggestions:
        pair = _pair(suggestion)
        best[pair] = max(best.get(pair, 0.0), suggestion.joinability)
    joins = [
        Join(
            left=pair[0],
            right=pair[1],
            joinability=score,
            evidence=evidence[pair],
            catalog=knowledge.of(pair),
        )
        for pair, score in best.items()
    ]
    return tuple(sorted(joins, key=lambda join: (-join.joinability, join.left, join.right)))


def suggest(
    tables: Sequence[Table],
    *,
    session: Session,
    profile: ProfileConfig,
    model: ModelConfig,
    progress: Progress,
    knowledge: CatalogFacts = _NOTHING,
) -> Findings:
    """Finds for every key column the columns that join with it.

    Args:
        tables: What the catalog knows.
        session: Reads them; not asked for if nothing is to be read.
        profile: How much of them.
        model: How to learn and rank.
        progress: Told of stages, counts and faults.
        knowledge: What the catalog says of columns and pairs, and what people decided: what they
            accepted is found whatever its score, what they rejected never.

    Returns:
        What was found, and what was read on the way.

    Raises:
        ModelError: No network can be trained on these tables.
    """
    with progress.stage("Profiling tables"):
        profiles = read_profiles(tables, session, profile, progress)
        profiles = _leave_out_unknown(profiles, knowledge, progress)
    with progress.stage("Building the hypergraph"):
        structure = index_lake(profiles, model, knowledge, progress)
    with progress.stage("Encoding columns"):
        encoding = embed(structure, model, progress)
    with progress.stage("Ranking candidates"):
        ranked = tuple(rank(structure, encoding.embeddings, model))
    with progress.stage("Verifying on the data"):
        pairs = sorted(set(map(_pair, ranked)))
        evidence = _verify(pairs, tables, session, profile, structure)
    least = model.ranking.min_containment
    suggestions = _confirm(ranked, evidence, least=least, accepted=knowledge.accepted)
    joins = _joins(suggestions, evidence, knowledge)
    progress.count("suggestions", len(suggestions))
    progress.count("joins", len(joins))
    return Findings(
        profiles=profiles,
        keys=tuple(structure.lake.ids[key] for key in np.asarray(structure.keys)),
        suggestions=suggestions,
        joins=joins,
        model_version=f"{__version__}-{encoding.fingerprint}",
    )
