"""Rivals that draw at random, each time from the seed that they are run with."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from datahub_hyperjoin.evaluate.methods import EvaluatedLake
from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.rival import Queries, Rival, Scores
from datahub_hyperjoin.evaluate.slugs import slug
from datahub_hyperjoin.evaluate.suite import Rankings
from datahub_hyperjoin.progress import Progress


class DrawnScoring(Protocol):
    """A measure of how well columns join that differs from seed to seed."""

    def __call__(self, lake: Sequence[Cells], queries: Queries, /, *, seed: int) -> Scores:
        """Scores every column for every query; scores of a query's own table are not looked at.

        Args:
            lake: All columns.
            queries: Which of them are asked about, at least one.
            seed: Where randomness starts.

        Returns:
            One row a query, one score a column.

        Raises:
            ModelError: There is something to train, and the lake is too small for it.
        """
        ...


@dataclass(frozen=True)
class Drawn:
    """A method of the literature whose answers depend on the seed, and on nothing else."""

    name: str
    """As reports call it."""

    scoring: DrawnScoring
    """Its measure."""

    libraries: tuple[str, ...] = ()
    """What it imports beyond the project's own requirements, by import names."""

    trained: int = 0
    """Networks that it trains in each run."""

    @property
    def slug(self) -> str:
        """As file names and command lines call it."""
        return slug(self.name)

    def rank(self, lake: EvaluatedLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Answers every query whose column has values; equal scores in the order of the lake."""
        once = Rival(self.name, partial(self.scoring, seed=seed))
        rankings = once.rank(lake, seed=seed, models=models, progress=progress)
        progress.count("models_trained", self.trained)
        return rankings
