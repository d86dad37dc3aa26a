"""The pipeline from tables to joins: profile, index, encode, rank, verify.

`suggest` at the end of the module calls the stages in order. Each stage takes and returns values,
and reports its counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from datahub_hyperjoin import __version__
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import Evidence, Join, Suggestion
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
from datahub_hyperjoin.tables import ColumnId, DataType, Pair, Table, TableId, TableProfile, pair_of
from datahub_hyperjoin.wording import name_some

_NO_FACTS = CatalogFacts()


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The results of a run: profiles, key columns, suggestions and joins."""

    profiles: tuple[TableProfile, ...]
    """Every table, including unreadable ones, with the columns that are in the catalog."""

    keys: tuple[ColumnId, ...]
    """The key columns."""

    suggestions: tuple[Suggestion, ...]
    """Suggestions that the data or a person confirms, by key column and best first."""

    joins: tuple[Join, ...]
    """The pairs of the suggestions with their evidence, best first."""

    model_version: str
    """This package's version and the model's fingerprint."""

    @cached_property
    def faulty(self) -> frozenset[TableId]:
        """Tables that could not be read."""
        return frozenset(profile.table.id for profile in self.profiles if profile.fault)

    @cached_property
    def types(self) -> Mapping[ColumnId, DataType]:
        """The data type of each column."""
        return {column.id: column.type for table in self.profiles for column in table.columns}


def read_profiles(
    tables: Sequence[Table], session: Session, config: ProfileConfig, progress: Progress
) -> tuple[TableProfile, ...]:
    """Profile every table. Unchanged tables come from the profile store and are not read.

    Args:
        tables: The tables.
        session: Starts the Spark session; not called if there is nothing to read.
        config: How much of each table to read, and where profiles are stored.
        progress: Receives counts and warnings.

    Returns:
        One profile per table, in the same order, including unreadable tables.
    """
    store = Store(config)
    stored = store.profiles(tables)
    changed = [table for table in tables if table.id not in stored]
    read = profile_lake(session(), changed, config) if changed else []
    by_table = stored | {profile.table.id: profile for profile in read}
    profiles = tuple(by_table[table.id] for table in tables)
    store.keep_profiles(profiles)
    progress.count("tables_from_profile_store", len(stored))
    _report_profiles(profiles, progress)
    return profiles


def _report_profiles(profiles: Sequence[TableProfile], progress: Progress) -> None:
    """Warn of tables that are skipped or partly read.

    The table's name is in the context, since DataHub's report groups warnings by title and message.
    """
    for profile in profiles:
        name = str(profile.table.id)
        if profile.fault:
            progress.count("tables_skipped", 1)
            progress.warn(
                "Table skipped",
                "It gets no suggestions. All other tables do",
                f"{name}: {profile.fault}, or exclude it with `{profile.table.chosen_by}`",
            )
            continue
        progress.count("tables_profiled", 1)
        progress.count("columns_profiled", len(profile.columns))
        for note in profile.notes:
            progress.warn(
                "Table partly read",
                "Its suggestions are based on the part that could be read",
                f"{name}: {note}",
            )


def _drop_unknown_columns(
    profiles: Sequence[TableProfile], facts: CatalogFacts, progress: Progress
) -> tuple[TableProfile, ...]:
    """Drop columns that are not in the catalog, because joins on them cannot be published."""
    kept = []
    for profile in profiles:
        names = facts.columns.get(profile.table.id)
        if names is None:
            kept.append(profile)
            continue
        columns = tuple(column for column in profile.columns if column.id.path in names)
        kept.append(replace(profile, columns=columns))
        unknown = [column.id.path for column in profile.columns if column.id.path not in names]
        if unknown:
            progress.warn(
                "Column not in the catalog",
                "It gets no suggestions. Ingest its table again to add it",
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
    facts: CatalogFacts,
    progress: Progress,
) -> LakeIndex:
    """Find the key columns of a lake, and build its join graph and hypergraph.

    Args:
        profiles: The tables.
        config: The conditions of key columns and edges.
        facts: What the catalog states about columns and pairs, and people's decisions.
        progress: Receives counts.

    Returns:
        The input of training and ranking.
    """
    lake = Lake.from_tables(profiles)
    index = build_lake_index(lake, config, facts, progress.say)
    if config.variants.llm:
        _report_names(index.naming, progress)
    graph, components = index.graph, index.joins.components
    progress.count("key_columns", len(index.keys))
    progress.count("hyperedges_within_tables", int((~graph.across).sum()))
    progress.count("hyperedges_across_tables", int(graph.across.sum()))
    progress.count("largest_hyperedge_across_tables", max(map(len, components), default=0))
    return index


def embed(index: LakeIndex, config: ModelConfig, progress: Progress) -> Encoding:
    """Encode the columns of a lake, with a saved model or one that is trained now.

    Args:
        index: The lake.
        config: How to train, and where the model is saved.
        progress: Receives every epoch, and whether a model was trained.

    Returns:
        One embedding per column.

    Raises:
        ModelError: No network can be trained on these tables.
    """

    def watch(epoch: Epoch) -> None:
        if epoch.resumed:
            last = epoch.number - 1
            progress.say(f"Resuming training after epoch {last}, where an earlier run ended")
        remaining = epoch.seconds * (config.training.epochs - epoch.number)
        progress.say(
            f"Epoch {epoch.number} of at most {config.training.epochs}: loss {epoch.loss:.3f}, "
            f"held-out recall {epoch.recall:.2f}, at most {remaining:.0f} s left"
        )

    encoding = encode(index, config, watch)
    progress.count("models_trained", int(encoding.trained))
    return encoding


def _pair_of(suggestion: Suggestion) -> Pair:
    return pair_of(suggestion.query, suggestion.candidate)


def _recognise_kinds(index: LakeIndex, pairs: Sequence[Pair]) -> dict[Pair, str]:
    """Map each pair whose columns hold the same kind of standard entity to that kind."""
    row = {column: number for number, column in enumerate(index.lake.ids)}
    kinds = ((pair, index.entities.kind(row[pair[0]], row[pair[1]])) for pair in pairs)
    return {pair: kind for pair, kind in kinds if kind}


def _verify(
    pairs: Sequence[Pair],
    tables: Sequence[Table],
    session: Session,
    config: ProfileConfig,
    index: LakeIndex,
) -> dict[Pair, Evidence]:
    """Measure pairs on the data. Evidence on unchanged tables comes from the profile store."""
    store, kinds = Store(config), _recognise_kinds(index, pairs)
    stored = store.evidence(pairs, tables, kinds)
    changed = [pair for pair in pairs if pair not in stored]
    lake, needed = index.lake, {kinds[pair] for pair in changed if pair in kinds}
    columns = ColumnKinds(
        kinds=kinds,
        synonyms={kind: load_lexicon().synonyms(kind) for kind in needed},
        texts=frozenset(id_ for id_, text in zip(lake.ids, lake.is_text, strict=True) if text),
    )
    measured: Mapping[Pair, Evidence] = {}
    if changed:
        measured = verify_joins(session(), tables, changed, kinds=columns, config=config)
    evidence = {**stored, **measured}
    store.keep_evidence(evidence, tables, kinds)
    return evidence


def _confirm(
    suggestions: Sequence[Suggestion],
    evidence: Mapping[Pair, Evidence],
    *,
    min_containment: float,
    accepted: frozenset[Pair],
) -> tuple[Suggestion, ...]:
    """Drop suggestions that the data refutes, and renumber the ranks of the rest.

    A suggestion without evidence could not be measured: it is neither confirmed nor refuted, and is
    not shown. A pair that a person accepted stays, however little its values overlap.
    """

    def is_confirmed(suggestion: Suggestion) -> bool:
        measured = evidence.get(_pair_of(suggestion))
        if measured is None or _pair_of(suggestion) in accepted:
            return measured is not None
        return measured.containment >= min_containment

    confirmed = filter(is_confirmed, suggestions)
    return tuple(
        replace(suggestion, rank=rank_)
        for _, group in groupby(confirmed, key=lambda suggestion: suggestion.query)
        for rank_, suggestion in enumerate(group, start=1)
    )


def _collect_joins(
    suggestions: Sequence[Suggestion], evidence: Mapping[Pair, Evidence], facts: CatalogFacts
) -> tuple[Join, ...]:
    """Combine suggestions into one join per pair of columns, with the higher score."""
    best: dict[Pair, float] = {}
    for suggestion in suggestions:
        pair = _pair_of(suggestion)
        best[pair] = max(best.get(pair, 0.0), suggestion.joinability)
    joins = [
        Join(
            left=pair[0],
            right=pair[1],
            joinability=score,
            evidence=evidence[pair],
            catalog=facts.of(pair),
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
    facts: CatalogFacts = _NO_FACTS,
) -> Findings:
    """Suggest joinable columns for every key column.

    Args:
        tables: The tables.
        session: Starts the Spark session; not called if there is nothing to read.
        profile: How much of each table to read.
        model: How to learn and rank.
        progress: Receives stages, counts and warnings.
        facts: What the catalog states about columns and pairs, and people's decisions. Accepted
            pairs are suggested whatever their score, rejected pairs never.

    Returns:
        Suggestions and joins, with the profiles that they are based on.

    Raises:
        ModelError: No network can be trained on these tables.
    """
    with progress.stage("Profiling tables"):
        read = read_profiles(tables, session, profile, progress)
        profiles = _drop_unknown_columns(read, facts, progress)
    with progress.stage("Building the hypergraph"):
        index = index_lake(profiles, model, facts, progress)
    with progress.stage("Encoding columns"):
        encoding = embed(index, model, progress)
    with progress.stage("Ranking candidates"):
        ranked = tuple(rank(index, encoding.embeddings, model))
    with progress.stage("Verifying on the data"):
        pairs = sorted(set(map(_pair_of, ranked)))
        evidence = _verify(pairs, tables, session, profile, index)
    min_containment = model.ranking.min_containment
    suggestions = _confirm(
        ranked, evidence, min_containment=min_containment, accepted=facts.accepted
    )
    joins = _collect_joins(suggestions, evidence, facts)
    progress.count("suggestions", len(suggestions))
    progress.count("joins", len(joins))
    return Findings(
        profiles=profiles,
        keys=tuple(index.lake.ids[key] for key in np.asarray(index.keys)),
        suggestions=suggestions,
        joins=joins,
        model_version=f"{__version__}-{encoding.fingerprint}",
    )
