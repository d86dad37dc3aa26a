"""Turn labelled lakes into training examples: candidates of query columns, with features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate.labelled_lake import LabelledLake
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES, PairFeatures
from datahub_hyperjoin.model.ranking.pair_scoring import (
    STRENGTHS,
    NoisyOrScorer,
    combine,
    combine_background_knowledge,
)

_CHUNK = 64
"""Number of queries, at 256 pairs each, whose pairs are measured at once."""


@dataclass(frozen=True)
class Examples:
    """The candidates of all query columns of a lake, with their features."""

    rows: Float32[np.ndarray, "pair feature"]
    """The features of each pair of a query and a candidate."""

    noisy_or: Float[np.ndarray, " pair"]
    """The score of each pair by evidence alone, without codes, crosswalks and the catalog."""

    known: Float[np.ndarray, " pair"]
    """The score of each pair by codes, crosswalks and the catalog alone."""

    query: Int[np.ndarray, " pair"]
    """The index of each pair's query column."""

    joins: Bool[np.ndarray, " pair"]
    """Whether the pair is in the ground truth."""

    answers: Int[np.ndarray, " query"]
    """Number of true joins of each query, found or not."""

    def save(self, path: Path) -> None:
        np.savez_compressed(path, **vars(self))

    @classmethod
    def load(cls, path: Path) -> "Examples":
        with np.load(path) as arrays:
            return cls(**arrays)


def collect_examples(lake: ProfiledLake, *, names: bool) -> Examples:
    """Find the candidates of all query columns of a lake, and compute their features.

    Args:
        lake: The profiled lake with its ground truth.
        names: Whether names are read; without them, the lake is one more guise of itself.
    """
    features = FeatureConfig(names=names)
    config = ModelConfig(ranking=RankingConfig(scoring=Scoring.SIGNALS), features=features)
    index = build_lake_index(Lake.from_tables(lake.profiles), config, CatalogFacts())
    numbers = number_columns(index.lake)
    queries = [query for query in lake.labelled.truth if query in numbers]
    index = replace(index, keys=np.array([numbers[query] for query in queries], dtype=np.int64))
    candidates = find_candidates(index, index.names.vectors(), config)
    query, position = np.nonzero(candidates != NO_CANDIDATE)
    left, right = index.keys[query], candidates[query, position]
    return Examples(
        *_measure(index, left, right),
        query=query,
        joins=are_true(lake.labelled, numbers, left, right),
        answers=np.array([len(lake.labelled.truth[query]) for query in queries]),
    )


def number_columns(lake: Lake) -> dict[tuple[str, str], int]:
    """Map the name of each column, as a labelled lake writes it, to its position in the lake.

    Args:
        lake: The columns.
    """
    columns = enumerate(lake.ids)
    return {(Path(column.table.name).stem, column.path): number for number, column in columns}


def are_true(
    labelled: LabelledLake,
    numbers: dict[tuple[str, str], int],
    left: Int[np.ndarray, " pair"],
    right: Int[np.ndarray, " pair"],
) -> Bool[np.ndarray, " pair"]:
    """Mark the pairs that are in the ground truth.

    Args:
        labelled: The ground truth.
        numbers: The position of each column.
        left: The query column of each pair.
        right: Its candidate.
    """
    count = len(numbers)
    true = [
        numbers[query] * count + numbers[answer]
        for query, answers in labelled.truth.items()
        for answer in answers
        if query in numbers and answer in numbers
    ]
    return np.isin(left * count + right, true)


def _measure(
    index: LakeIndex, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
) -> tuple[
    Float32[np.ndarray, "pair feature"], Float[np.ndarray, " pair"], Float[np.ndarray, " pair"]
]:
    scorer, features = NoisyOrScorer(index, None, STRENGTHS), PairFeatures(index)
    rows, by_evidence, known = [np.zeros((0, len(PAIR_FEATURES)), np.float32)], [], []
    for start in range(0, len(left), _CHUNK * 256):
        some = slice(start, start + _CHUNK * 256)
        signals = scorer.measure(left[some, None], right[some, None]).flatten()
        score = combine(signals.without_background_knowledge(), STRENGTHS)
        rows.append(features.of(left[some], right[some], signals, score))
        by_evidence.append(score)
        known.append(combine_background_knowledge(signals, STRENGTHS))
    return np.vstack(rows), np.concatenate(by_evidence), np.concatenate(known)


def average_precision(examples: Examples, scores: Float[np.ndarray, " pair"]) -> float:
    """Return the mean average precision of the rankings of all queries.

    Args:
        examples: The candidates.
        scores: The score of each pair.
    """
    order = np.lexsort((-scores, examples.query))
    joins, query = examples.joins[order], examples.query[order]
    start = np.searchsorted(query, np.arange(len(examples.answers)))
    rank = np.arange(len(query)) - start[query] + 1
    total = np.cumsum(joins)
    before = np.concatenate([[0], total])[start]
    precision = joins * (total - before[query]) / rank
    by_query = np.bincount(query, precision, minlength=len(examples.answers))
    return float(np.mean(by_query / examples.answers))


Lakes = Sequence[Examples]
"""The examples of several lakes."""
