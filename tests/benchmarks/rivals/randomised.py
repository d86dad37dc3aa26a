"""Define rival methods whose rankings depend on a random seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.rival import ColumnScores, Queries, Rival
from benchmarks.slugs import slug
from datahub_hyperjoin.evaluate.labelled_lake import Rankings
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.progress import Progress


class RandomisedScoring(Protocol):
    """Interface of functions that use a random seed to score how well columns join."""

    def __call__(self, lake: Sequence[Cells], queries: Queries, /, *, seed: int) -> ColumnScores:
        """Score all columns for each query column.

        Scores for the query's own table are ignored.

        Args:
            lake: All columns.
            queries: Positions of the query columns, at least one.
            seed: Seed of all randomness.

        Returns:
            One row per query column, one score per column.

        Raises:
            ModelError: The lake is too small to train on.
        """
        ...


@dataclass(frozen=True)
class RandomisedRival:
    """A rival method that uses randomness."""

    name: str
    """The name shown in reports."""

    scoring: RandomisedScoring
    """The measure by which the rival ranks candidates."""

    libraries: tuple[str, ...] = ()
    """Libraries that the rival needs, by the names under which Python imports them."""

    trained: int = 0
    """Number of networks trained in each run."""

    @property
    def slug(self) -> str:
        """Name in the form for file names and command lines."""
        return slug(self.name)

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Rank the columns of other tables for each query column that has values.

        Columns with equal scores keep the order of the lake.
        """
        seeded = Rival(self.name, partial(self.scoring, seed=seed))
        rankings = seeded.rank(lake, seed=seed, models=models, progress=progress)
        progress.count("models_trained", self.trained)
        return rankings
