"""Define rival methods, which score all columns and rank the columns of other tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from benchmarks.rivals.cells import Cells, read_cells
from benchmarks.slugs import slug
from datahub_hyperjoin.evaluate.labelled_lake import RankedColumn, Rankings
from datahub_hyperjoin.evaluate.metrics import RANKING_LENGTH
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.progress import Progress

Queries = Int[np.ndarray, " query"]
"""Positions of the query columns among all columns."""
ColumnScores = Float[np.ndarray, "query column"]
"""Scores of all columns for each query column; greater is better."""


class ColumnScoring(Protocol):
    """Interface of functions that score how well columns join."""

    def __call__(self, lake: Sequence[Cells], queries: Queries, /) -> ColumnScores:
        """Score all columns for each query column.

        Scores for the query's own table are ignored.

        Args:
            lake: All columns.
            queries: Positions of the query columns, at least one.

        Returns:
            One row per query column, one score per column.
        """
        ...


@dataclass(frozen=True)
class Rival:
    """A rival method without randomness, which returns the same ranking for every seed.

    Like the pipeline, it skips columns without values.
    """

    name: str
    """The name shown in reports."""

    scoring: ColumnScoring
    """The measure by which the rival ranks candidates."""

    above: float = -np.inf
    """Only columns with a greater score are ranked."""

    libraries: tuple[str, ...] = ()
    """Names under which the libraries that the rival needs are imported."""

    @property
    def slug(self) -> str:
        """Name in the form for file names and command lines."""
        return slug(self.name)

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Rank the columns of other tables for each query column that has values.

        Columns with equal scores keep the order of the lake.
        """
        del seed, models
        with progress.stage("Reading cells"):
            cells = read_cells(lake.labelled)
        positions = {column.name: position for position, column in enumerate(cells)}
        queries = np.array(
            [positions[query] for query in lake.labelled.truth if query in positions], int
        )
        if not queries.size:
            return {}
        with progress.stage("ColumnScoring columns"):
            scores = self.scoring(cells, queries)
        return {
            cells[query].name: self._rank(cells, query, row)
            for query, row in zip(queries, scores, strict=True)
        }

    def _rank(
        self, cells: Sequence[Cells], query: int, scores: Float[np.ndarray, " column"]
    ) -> list[RankedColumn]:
        scored = np.flatnonzero(scores > self.above)
        order = scored[np.argsort(-scores[scored], kind="stable")]
        own_table = cells[query].name.table
        others = [column for column in order if cells[column].name.table != own_table]
        return [
            RankedColumn(cells[column].name, float(scores[column]))
            for column in others[:RANKING_LENGTH]
        ]
