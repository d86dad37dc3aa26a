"""What is measured: anything that answers a benchmark's queries, above all the product."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Protocol

import numpy as np

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate.metrics import ANSWERS
from datahub_hyperjoin.evaluate.suite import ColumnName, RankedColumn, Rankings, Suite
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.model.saved.fingerprints import fingerprint
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.suggest import embed, index_lake
from datahub_hyperjoin.tables import ColumnId, TableProfile


@dataclass(frozen=True)
class EvaluatedLake:
    """A benchmark with what Spark says of its tables."""

    suite: Suite
    """What is asked, and what is right."""

    profiles: tuple[TableProfile, ...]
    """One a table, those with a fault included."""

    seconds: float
    """How long profiling took."""


class Method(Protocol):
    """Something that answers queries."""

    @property
    def name(self) -> str:
        """As reports call it."""
        ...

    @property
    def slug(self) -> str:
        """As file names call it."""
        ...

    def rank(self, lake: EvaluatedLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Answers every query it can.

        Args:
            lake: The tables and the queries.
            seed: Where all randomness starts.
            models: A folder that all methods of this lake and seed share, for what they train.
            progress: Told of stages and epochs.

        Returns:
            Up to `ANSWERS` columns of other tables a query, best first.

        Raises:
            ModelError: The method cannot be trained on this lake.
        """
        ...


@dataclass(frozen=True)
class Product:
    """The stages of an ingestion, from profiles to ranked candidates.

    It differs from an ingestion where one cuts off. The queries are answered whether or not their
    columns look like keys, since somebody asks; a query that is no key is still none to the
    network and the hypergraph. As many candidates are ranked as are measured, whatever their
    joinability, and none is verified on the data: verification drops pairs, and never changes the
    order of the rest. A ranking is measured here, not a cut-off.

    A network is trained once for all methods whose recipes differ in what is done with it only, and
    kept no longer than that: `model.path` has no effect, nor have `model.ranking.top_k` and
    `model.ranking.min_joinability`. Seeds are counted from `model.seed`.
    """

    name: str
    """As reports call it."""

    slug: str
    """As file names call it."""

    config: ModelConfig
    """How to learn and rank."""

    def rank(self, lake: EvaluatedLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Answers every query whose column could be read."""
        config = replace(self.config, seed=self.config.seed + seed)
        structure = index_lake(lake.profiles, config, CatalogFacts(), progress)
        config = replace(config, path=models / fingerprint(structure, config))
        encoding = embed(structure, config, progress)
        asked = replace(structure, keys=_places(structure, lake.suite))
        return dict(_answers(asked, encoding.embeddings, config.ranking, lake.suite))


def _name(column: ColumnId) -> ColumnName:
    """A table of a benchmark is its file's name without `.csv`."""
    return ColumnName(Path(column.table.name).stem, column.path)


def _places(structure: LakeIndex, suite: Suite) -> np.ndarray:
    """The queries' columns, in the lake's order; without those that have no values."""
    asked = [_name(column) in suite.truth for column in structure.lake.ids]
    return np.flatnonzero(asked)


def _answers(
    structure: LakeIndex, embeddings: np.ndarray, config: RankingConfig, suite: Suite
) -> Iterator[tuple[ColumnName, list[RankedColumn]]]:
    uncut = replace(config, top_k=ANSWERS, min_joinability=0.0)
    found = rank(structure, embeddings, uncut)
    for query, group in groupby(found, key=lambda suggestion: suggestion.query):
        answers = [RankedColumn(_name(one.candidate), one.joinability) for one in group]
        yield _name(query), [answer for answer in answers if suite.has(answer.candidate)]
