"""The way of the data, from tables to suggestions: a line a stage."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

import numpy as np
from pyspark.sql import SparkSession
from typing_extensions import LiteralString

from datahub_hyperjoin import __version__
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.encode import Encoding, Structure, encode
from datahub_hyperjoin.model.hypergraph import build_hypergraph, build_join_graph
from datahub_hyperjoin.model.keys import find_keys
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.overlap import measure_overlap
from datahub_hyperjoin.model.rank import rank
from datahub_hyperjoin.model.train import Epoch
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profile import profile_tables
from datahub_hyperjoin.spark.verify import verify_joins
from datahub_hyperjoin.tables import (
    ColumnId,
    Evidence,
    Join,
    Suggestion,
    Table,
    TableProfile,
)

Pair = tuple[ColumnId, ColumnId]


class Progress(Protocol):
    """What a run tells whoever watches it."""

    def stage(self, name: str) -> AbstractContextManager[object]:
        """Times what happens inside.

        Args:
            name: The stage, as a person would call it.
        """
        ...

    def count(self, name: str, by: int) -> None:
        """Adds to a counter.

        Args:
            name: The counter.
            by: How many more.
        """
        ...

    def say(self, line: str) -> None:
        """Shows one line of progress.

        Args:
            line: What happened.
        """
        ...

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Names a fault that the run goes on without.

        Args:
            title: The kind of fault.
            message: What it means.
            context: Which table, and why.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a run found."""

    profiles: tuple[TableProfile, ...]
    """Every table, those with a fault included."""

    keys: tuple[ColumnId, ...]
    """The columns asked about."""

    suggestions: tuple[Suggestion, ...]
    """Key by key, best first; only what the data confirms."""

    joins: tuple[Join, ...]
    """The same without direction, with evidence, best first."""

    model_version: str
    """What made them: this package's version and the model's fingerprint."""


def _profile(
    tables: Sequence[Table], session: SparkSession, config: ProfileConfig, progress: Progress
) -> tuple[TableProfile, ...]:
    profiles = tuple(profile_tables(session, tables, config))
    for profile in profiles:
        name = str(profile.table.id)
        if profile.fault:
            progress.count("tables_skipped", 1)
            progress.warn(
                "Table skipped", "It gets no suggestions; the others do", f"{name}: {profile.fault}"
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


def _connect(
    profiles: Sequence[TableProfile], config: ModelConfig, progress: Progress
) -> Structure:
    lake = Lake.from_tables(profiles)
    keys = find_keys(lake, config.keys)
    overlap = measure_overlap(lake)
    joins = build_join_graph(lake, keys, overlap, config.hypergraph)
    graph = build_hypergraph(lake, joins)
    progress.count("key_columns", len(keys))
    progress.count("hyperedges_within_tables", int((~graph.across).sum()))
    progress.count("hyperedges_across_tables", int(graph.across.sum()))
    progress.count("largest_hyperedge_across", max(map(len, joins.components), default=0))
    return Structure(lake=lake, keys=keys, overlap=overlap, joins=joins, graph=graph)


def _encode(structure: Structure, config: ModelConfig, progress: Progress) -> Encoding:
    def watch(epoch: Epoch) -> None:
        left = epoch.seconds * (config.training.epochs - epoch.number)
        progress.say(
            f"Epoch {epoch.number} of at most {config.training.epochs}: loss {epoch.loss:.3f}, "
            f"held-out recall {epoch.recall:.2f}, at most {left:.0f} s left"
        )

    encoding = encode(structure, config, watch)
    progress.count("models_trained", int(encoding.trained))
    return encoding


def _pair(suggestion: Suggestion) -> Pair:
    left, right = sorted((suggestion.query, suggestion.candidate))
    return left, right


def _confirm(
    suggestions: Sequence[Suggestion], evidence: dict[Pair, Evidence], least: float
) -> tuple[Suggestion, ...]:
    """Drops what the data refutes, and closes the gaps in the ranks."""

    def confirmed(suggestion: Suggestion) -> bool:
        found = evidence.get(_pair(suggestion))
        if found is None:
            return False
        return max(found.left_containment, found.right_containment) >= least

    kept = filter(confirmed, suggestions)
    return tuple(
        replace(suggestion, rank=place)
        for _, group in groupby(kept, key=lambda suggestion: suggestion.query)
        for place, suggestion in enumerate(group, start=1)
    )


def _joins(suggestions: Sequence[Suggestion], evidence: dict[Pair, Evidence]) -> tuple[Join, ...]:
    best: dict[Pair, float] = {}
    for suggestion in suggestions:
        pair = _pair(suggestion)
        best[pair] = max(best.get(pair, 0.0), suggestion.joinability)
    joins = [
        Join(left=pair[0], right=pair[1], joinability=score, evidence=evidence[pair])
        for pair, score in best.items()
    ]
    return tuple(sorted(joins, key=lambda join: (-join.joinability, join.left, join.right)))


def suggest(
    tables: Sequence[Table],
    *,
    session: SparkSession,
    profile: ProfileConfig,
    model: ModelConfig,
    progress: Progress,
) -> Findings:
    """Finds for every key column the columns that join with it.

    Args:
        tables: What the catalog knows.
        session: Reads them.
        profile: How much of them.
        model: How to learn and rank.
        progress: Told of stages, counts and faults.

    Returns:
        What was found, and what was read on the way.

    Raises:
        ModelError: No network can be trained on these tables.
    """
    with progress.stage("Profiling tables"):
        profiles = _profile(tables, session, profile, progress)
    with progress.stage("Building the hypergraph"):
        structure = _connect(profiles, model, progress)
    with progress.stage("Encoding columns"):
        encoding = _encode(structure, model, progress)
    with progress.stage("Ranking candidates"):
        ranked = tuple(rank(structure, encoding.embeddings, model.ranking))
    with progress.stage("Verifying on the data"):
        pairs = sorted(set(map(_pair, ranked)))
        evidence = verify_joins(session, tables, pairs)
    suggestions = _confirm(ranked, evidence, model.ranking.min_containment)
    joins = _joins(suggestions, evidence)
    progress.count("suggestions", len(suggestions))
    progress.count("joins", len(joins))
    return Findings(
        profiles=profiles,
        keys=tuple(structure.lake.ids[key] for key in np.asarray(structure.keys)),
        suggestions=suggestions,
        joins=joins,
        model_version=f"{__version__}-{encoding.fingerprint}",
    )
