"""Turn labelled lakes into training examples: the candidate pairs of all key columns."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from benchmarks.measured_lakes import Guise, guise_file, hide_names, measure_missing
from benchmarks.pair_network.torch_network import PairTensors
from benchmarks.trees.examples import Examples, are_true, number_columns
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate.run import EvaluationProgress, ProfiledLake
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.pair_features import log_odds
from datahub_hyperjoin.model.ranking.pair_scoring import (
    STRENGTHS,
    NameScorer,
    NoisyOrScorer,
    score_pairs,
)
from datahub_hyperjoin.model.ranking.tree_scoring import (
    PairGraph,
    build_pair_graph,
    to_candidate_pairs,
)


@dataclass(frozen=True)
class LabelledPairs:
    """The candidate pairs of a lake, with labels that say which pairs of query columns join."""

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
        truth = {"joins": self.joins, "queries": self.queries, "answers": self.answers}
        np.savez(path, allow_pickle=False, **vars(self.graph), **truth)

    @classmethod
    def load(cls, path: Path) -> "LabelledPairs":
        with np.load(path) as arrays:
            graph = PairGraph(**{field.name: arrays[field.name] for field in fields(PairGraph)})
            truth = (arrays[name] for name in ("joins", "queries", "answers"))
            return cls(path.stem, graph, *truth)

    @cached_property
    def batch(self) -> PairTensors:
        """The pairs and their features, as tensors for the pair network."""
        return PairTensors.of(to_candidate_pairs(self.graph))

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
        """The index in `queries` of each pair's left column; -1 if this is not a query column."""
        number = np.full(len(self.graph.table_of), -1)
        number[self.queries] = np.arange(len(self.queries))
        return number[self.graph.left]

    @property
    def ranked(self) -> Examples:
        """The pairs of the query columns, as examples to train on and to rank."""
        asked, graph = self.asked, self.graph
        return Examples(
            rows=graph.rows[asked],
            noisy_or=graph.by_evidence[asked],
            known=graph.known[asked],
            query=self.query[asked],
            joins=self.joins[asked],
            answers=self.answers,
        )


class _NoisyOrOfNames(NoisyOrScorer):
    """The package's noisy-or of names and references, for runs that read no values."""

    def __init__(self, index: LakeIndex) -> None:
        super().__init__(index, None, STRENGTHS)
        self._by_names = NameScorer(index, None, STRENGTHS)

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        return self._by_names.score(left, right)


def collect_pairs(lake: ProfiledLake, guise: Guise) -> LabelledPairs:
    """Describe the candidate pairs of a lake.

    Args:
        lake: The profiled lake with its ground truth.
        guise: What is read of it.
    """
    # The package refuses to read neither names nor values; numbers as names say as little.
    is_bare = guise is Guise.BARE
    columns = Lake.from_tables(hide_names(lake.profiles) if is_bare else lake.profiles)
    features = FeatureConfig(names=guise.names or is_bare, values=guise.values)
    config = ModelConfig(features=features)
    index = build_lake_index(columns, config, CatalogFacts())
    numbers = number_columns(Lake.from_tables(lake.profiles))
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
    if config.features.values:
        return build_pair_graph(index, NoisyOrScorer(index, None, STRENGTHS), candidates)
    by_names = _NoisyOrOfNames(index)
    graph = build_pair_graph(index, by_names, candidates)
    evidence = score_pairs(by_names, graph.left, graph.right)
    graph.rows[:, 0] = log_odds(evidence)
    return replace(graph, by_evidence=evidence)


def read_pairs(
    folders: Sequence[Path], cache: Path, guises: Collection[Guise], progress: EvaluationProgress
) -> Iterator[LabelledPairs]:
    """Yield the candidate pairs of each lake in each guise.

    Names that say nothing need not be hidden, so lakes with such names have fewer guises.

    Args:
        folders: Labelled lakes.
        cache: A folder of measured pairs; lakes that it lacks are profiled by Spark.
        guises: What is read of the lakes.
        progress: Receives the progress.
    """
    cache.mkdir(parents=True, exist_ok=True)
    files = {folder: _files(folder, cache, guises) for folder in folders}

    def save(lake: ProfiledLake, guise: Guise, file: Path) -> None:
        collect_pairs(lake, guise).save(file)

    measure_missing(files, save, progress)
    for folder in folders:
        yield from map(LabelledPairs.load, files[folder].values())


def _files(folder: Path, cache: Path, guises: Collection[Guise]) -> dict[Guise, Path]:
    # Names that say nothing need not be hidden once more.
    says_something = not any(word in folder.name for word in ("hidden", "numbered"))
    return {
        guise: guise_file(folder, cache, guise) for guise in guises if guise.names or says_something
    }
