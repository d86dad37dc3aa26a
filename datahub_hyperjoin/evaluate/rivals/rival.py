"""What all rivals share: scores of columns in, the best of other tables out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from datahub_hyperjoin.evaluate.methods import EvaluatedLake
from datahub_hyperjoin.evaluate.metrics import ANSWERS
from datahub_hyperjoin.evaluate.rivals.cells import Cells, read_cells
from datahub_hyperjoin.evaluate.slugs import slug
from datahub_hyperjoin.evaluate.suite import RankedColumn, Rankings
from datahub_hyperjoin.progress import Progress

Queries = Int[np.ndarray, " query"]
"""Places of the columns asked about."""
Scores = Float[np.ndarray, "query column"]
"""How well each column of a lake joins with each query, by some measure; more is better."""


class Scoring(Protocol):
    """A measure of how well columns join."""

    def __call__(self, lake: Sequence[Cells], queries: Queries, /) -> Scores:
        """Scores every column for every query; scores of a query's own table are not looked at.

        Args:
            lake: All columns.
            queries: Which of them are asked about, at least one.

        Returns:
            One row a query, one score a column.
        """
        ...


@dataclass(frozen=True)
class Rival:
    """A method of the literature that draws no randomness: seeds change nothing.

    Like the product, it knows no column without values.
    """

    name: str
    """As reports call it."""

    scoring: Scoring
    """Its measure."""

    above: float = -np.inf
    """What scores no more than this is no answer."""

    libraries: tuple[str, ...] = ()
    """What it imports beyond the project's own requirements, by import names."""

    @property
    def slug(self) -> str:
        """As file names and command lines call it."""
        return slug(self.name)

    def rank(self, lake: EvaluatedLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Answers every query whose column has values; equal scores in the order of the lake."""
        del seed, models
        with progress.stage("Reading cells"):
            cells = read_cells(lake.suite)
        places = {column.name: place for place, column in enumerate(cells)}
        queries = np.array([places[query] for query in lake.suite.truth if query in places], int)
        if not queries.size:
            return {}
        with progress.stage("Scoring columns"):
            scores = self.scoring(cells, queries)
        return {
            cells[query].name: self._best(cells, query, row)
            for query, row in zip(queries, scores, strict=True)
        }

    def _best(
        self, cells: Sequence[Cells], query: int, scores: Float[np.ndarray, " column"]
    ) -> list[RankedColumn]:
        enough = np.flatnonzero(scores > self.above)
        order = enough[np.argsort(-scores[enough], kind="stable")]
        own = cells[query].name.table
        others = [place for place in order if cells[place].name.table != own]
        return [RankedColumn(cells[place].name, float(scores[place])) for place in others[:ANSWERS]]
