"""Methods that rank candidates for query columns.

This package's own pipeline is one of them.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate.labelled_lake import (
    ColumnName,
    LabelledLake,
    RankedColumn,
    Rankings,
)
from datahub_hyperjoin.evaluate.metrics import RANKING_LENGTH
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.model.saved.fingerprints import fingerprint
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.stages.named_joins import describe_unread, index_by_names
from datahub_hyperjoin.suggest import embed, index_lake
from datahub_hyperjoin.tables import ColumnId, TableProfile


@dataclass(frozen=True)
class ProfiledLake:
    """A lake with known joins, and the profiles of its tables."""

    labelled: LabelledLake
    """The query columns and the ground truth."""

    profiles: tuple[TableProfile, ...]
    """One profile per table, including tables that could not be read."""

    seconds: float
    """Run time of profiling."""


class RankingMethod(Protocol):
    """The interface of methods that rank candidates for query columns."""

    @property
    def name(self) -> str:
        """The name shown in reports."""
        ...

    @property
    def slug(self) -> str:
        """The name used in file names."""
        ...

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Rank candidates for each query column.

        Args:
            lake: The tables and the query columns.
            seed: Seed of all randomness.
            models: A folder for trained networks, shared by all methods of this lake and seed.
            progress: Receives stages and epochs.

        Returns:
            Up to `RANKING_LENGTH` columns of other tables for each query column, best first.

        Raises:
            ModelError: The method cannot be trained on this lake.
        """
        ...


@dataclass(frozen=True)
class Pipeline:
    """This package's own ranking method.

    It leaves out the limits of an ingestion, since it measures a ranking rather than a cut-off.
    All query columns are ranked for, whether or not they look like keys; the network and the
    hypergraph still see keys only. As many candidates are ranked as are measured, whatever their
    joinability. No candidate is verified on the data: verification drops pairs, and never changes
    the order of the rest.

    Methods that need the same network share it: it is trained by the first of them and deleted
    after the last. `model.path`, `model.ranking.top_k` and `model.ranking.min_joinability` have no
    effect. Seeds are counted from `model.seed`.
    """

    name: str
    """The name shown in reports."""

    slug: str
    """The name used in file names."""

    config: ModelConfig
    """The `model` section of a recipe."""

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Rank candidates for each query column.

        Columns of tables without rows are ranked by names, after all that have values.
        """
        config = replace(self.config, seed=self.config.seed + seed)
        described = describe_unread(lake.profiles, CatalogFacts())
        rankings: Rankings = {}
        if not described or len(Lake.from_tables(lake.profiles)):
            rankings = _rank_by_values(lake, config, models, progress)
        if not described:
            return rankings
        index, config = index_by_names(lake.profiles, described, config, CatalogFacts())
        queried = replace(index, keys=_query_columns(index, lake.labelled))
        named = dict(_rankings(queried, index.names.vectors(), config, lake.labelled))
        unread = {table.title for table in described}
        return {
            query: _append(rankings.get(query, ()), named[query], query, unread) for query in named
        }


def _rank_by_values(
    lake: ProfiledLake, config: ModelConfig, models: Path, progress: Progress
) -> Rankings:
    index = index_lake(lake.profiles, config, CatalogFacts(), progress)
    # The fingerprint names the network by its training, so equal training is found again.
    config = replace(config, path=models / fingerprint(index, config))
    encoding = embed(index, config, progress)
    # The query columns are ranked beside the key columns, whose candidates are their context.
    keys = np.union1d(index.keys, _query_columns(index, lake.labelled))
    return dict(_rankings(replace(index, keys=keys), encoding.embeddings, config, lake.labelled))


def _append(
    ranking: Sequence[RankedColumn],
    named: Sequence[RankedColumn],
    query: ColumnName,
    unread: Collection[str],
) -> list[RankedColumn]:
    """Append candidates that were found by name alone (`named`) to a query column's ranking.

    They are appended only where the rows of the query column's or the candidate's table were not
    read (`unread`).
    """
    further = (each for each in named if {query.table, each.candidate.table} & {*unread})
    return [*ranking, *further][:RANKING_LENGTH]


def _name(column: ColumnId) -> ColumnName:
    return ColumnName(Path(column.table.name).stem, column.path)


def _query_columns(index: LakeIndex, labelled: LabelledLake) -> Int[np.ndarray, " query"]:
    """Return the position of each query column in the lake index.

    The lake index contains no columns without values.
    """
    return np.flatnonzero([_name(column) in labelled.truth for column in index.lake.ids])


def _rankings(
    index: LakeIndex, embeddings: np.ndarray, config: ModelConfig, labelled: LabelledLake
) -> Iterator[tuple[ColumnName, list[RankedColumn]]]:
    unlimited = replace(config.ranking, top_k=RANKING_LENGTH, min_joinability=0.0)
    suggestions = rank(index, embeddings, replace(config, ranking=unlimited))
    for query, group in groupby(suggestions, key=lambda suggestion: suggestion.query):
        if _name(query) not in labelled.truth:
            continue
        ranking = [
            RankedColumn(_name(suggestion.candidate), suggestion.joinability)
            for suggestion in group
        ]
        yield _name(query), [ranked for ranked in ranking if labelled.has(ranked.candidate)]
