"""Turn labelled lakes into training examples: the candidate pairs of all key columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int

from benchmarks.trees.examples import Examples, are_true, number_columns
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate.labelled_lake import read_labelled_lakes
from datahub_hyperjoin.evaluate.methods import ProfiledLake
from datahub_hyperjoin.evaluate.progress import EvaluationProgress
from datahub_hyperjoin.evaluate.run import profile_lakes
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.pair_network import CandidatePairs
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.noisy_or import STRENGTHS
from datahub_hyperjoin.model.ranking.pair_correction import to_batch
from datahub_hyperjoin.model.ranking.pair_graph import PairGraph, build_pair_graph
from datahub_hyperjoin.model.ranking.pair_scoring import NoisyOrScorer

_TOGETHER = 8
"""Lakes profiled in one Spark session."""


@dataclass(frozen=True)
class LabelledPairs:
    """The candidate pairs of a lake, with the truth about those of the query columns."""

    name: str
    """Name of the lake and of the guise."""

    graph: PairGraph
    """The candidates of all key columns and query columns."""

    joins: Bool[np.ndarray, " pair"]
    """Whether each pair is in the ground truth."""

    queries: Int[np.ndarray, " query"]
    """The query columns."""

    answers: Int[np.ndarray, " query"]
    """Number of true joins of each query column, found or not."""

    def save(self, path: Path) -> None:
        """Write the pairs to a file."""
        truth = {"joins": self.joins, "queries": self.queries, "answers": self.answers}
        np.savez(path, allow_pickle=False, **vars(self.graph), **truth)

    @classmethod
    def load(cls, path: Path) -> "LabelledPairs":
        """Read the pairs from a file."""
        with np.load(path) as arrays:
            graph = PairGraph(**{field.name: arrays[field.name] for field in fields(PairGraph)})
            truth = (arrays[name] for name in ("joins", "queries", "answers"))
            return cls(path.stem, graph, *truth)

    @cached_property
    def batch(self) -> CandidatePairs:
        """The input of the network."""
        return to_batch(self.graph)

    @cached_property
    def asked(self) -> Bool[np.ndarray, " pair"]:
        """Whether each pair belongs to a query column."""
        return np.isin(self.graph.left, self.queries)

    @cached_property
    def taught(self) -> Bool[np.ndarray, " pair"]:
        """Whether the network learns from each pair.

        Codes, crosswalks and the catalog are added afterwards, so the network need not explain
        pairs that they wrongly suggest.
        """
        return self.asked & ((self.graph.known == 0) | self.joins)

    @cached_property
    def query(self) -> Int[np.ndarray, " pair"]:
        """The number of each pair's query column; pairs of other columns have -1."""
        number = np.full(len(self.graph.table_of), -1)
        number[self.queries] = np.arange(len(self.queries))
        return number[self.graph.left]

    @property
    def ranked(self) -> Examples:
        """The pairs of the query columns in the form that is ranked and scored."""
        asked, graph = self.asked, self.graph
        return Examples(
            rows=graph.rows[asked],
            noisy_or=graph.by_evidence[asked],
            known=graph.known[asked],
            query=self.query[asked],
            joins=self.joins[asked],
            answers=self.answers,
        )


def collect_pairs(lake: ProfiledLake, *, names: bool) -> LabelledPairs:
    """Describe the candidate pairs of a lake.

    Args:
        lake: The profiled lake with its ground truth.
        names: Whether names are read; without them, the lake is one more guise of itself.
    """
    config = ModelConfig(features=FeatureConfig(names=names))
    index = build_lake_index(Lake.from_tables(lake.profiles), config, CatalogFacts())
    numbers = number_columns(index)
    truth = lake.labelled.truth
    queries = {numbers[query]: len(truth[query]) for query in truth if query in numbers}
    keys = np.union1d(index.keys, np.array([*queries], dtype=np.int64))
    graph = _graph(replace(index, keys=keys), config)
    return LabelledPairs(
        lake.labelled.name,
        graph,
        are_true(lake.labelled, numbers, graph.left, graph.right),
        np.array([*queries], dtype=np.int64),
        np.array([*queries.values()], dtype=np.int64),
    )


def _graph(index: LakeIndex, config: ModelConfig) -> PairGraph:
    candidates = find_candidates(index, index.names.vectors(), config)
    return build_pair_graph(index, NoisyOrScorer(index, None, STRENGTHS), candidates)


def read_pairs(
    folders: Sequence[Path], cache: Path, progress: EvaluationProgress
) -> Iterator[LabelledPairs]:
    """Yield the candidate pairs of each lake, with its names and without them.

    Args:
        folders: Labelled lakes.
        cache: A folder of measured pairs; lakes that it lacks are profiled by Spark.
        progress: Receives the progress.
    """
    cache.mkdir(parents=True, exist_ok=True)
    files = {folder: _files(folder, cache) for folder in folders}
    missing = [folder for folder in folders if not all(map(Path.exists, files[folder].values()))]
    for start in range(0, len(missing), _TOGETHER):
        labelled = read_labelled_lakes(missing[start : start + _TOGETHER])
        for lake in profile_lakes(labelled, {}, progress):
            for names, file in files[lake.labelled.folder].items():
                collect_pairs(lake, names=names).save(file)
    for folder in folders:
        yield from map(LabelledPairs.load, files[folder].values())


def _files(folder: Path, cache: Path) -> dict[bool, Path]:
    split, name = folder.parts[-2:]
    says_something = not any(word in name for word in ("hidden", "numbered"))
    guises = {True: "named"} | ({False: "nameless"} if says_something else {})
    return {names: cache / f"{split}-{name}-{guise}.npz" for names, guise in guises.items()}
