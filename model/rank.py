"""From embeddings to a coherent top-K for every key column (paper, section 5)."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float32, Int
from typing_extensions import assert_never

from datahub_hyperjoin.model.affinity import BlendWeight, CosineWeight, PairWeight
from datahub_hyperjoin.model.config import Affinity, RankingConfig
from datahub_hyperjoin.model.encode import Structure
from datahub_hyperjoin.model.index import NOBODY, ColumnIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.overlap import Overlap
from datahub_hyperjoin.model.rerank import select_coherent
from datahub_hyperjoin.tables import Suggestion

_CHUNK = 128
"""Queries ranked at once; memory grows with their candidates' pairs."""


def _weigh(
    structure: Structure, embeddings: Float32[np.ndarray, "column width"], affinity: Affinity
) -> PairWeight:
    cosine = CosineWeight(embeddings)
    match affinity:
        case Affinity.HIN:
            return cosine
        case Affinity.BLEND:
            return BlendWeight(structure.lake, structure.overlap, cosine)
    assert_never(affinity)


def number_twins(lake: Lake) -> Int[np.ndarray, " column"]:
    """Numbers that the same column of exact copies of a table shares.

    Args:
        lake: The columns.

    Returns:
        One number a column.
    """
    contents = [
        hash(tuple((lake.profiles[c].id.path, lake.profiles[c].sketch) for c in columns))
        for columns in lake.columns_of
    ]
    numbers: dict[tuple[int, str], int] = {}
    return np.array(
        [
            numbers.setdefault((contents[table], profile.id.path), len(numbers))
            for table, profile in zip(lake.table_of, lake.profiles, strict=True)
        ],
        dtype=np.int64,
    )


def _overlapping(
    overlap: Overlap, queries: Int[np.ndarray, " query"], count: int
) -> Int[np.ndarray, "query candidate"]:
    """The columns whose values overlap most with each query's, in either direction."""
    order = np.lexsort((overlap.right, -overlap.either_way, overlap.left))
    starts = np.searchsorted(overlap.left, queries)
    sizes = np.searchsorted(overlap.left, queries, side="right") - starts
    places = starts[:, None] + np.arange(count)
    exists = np.arange(count) < sizes[:, None]
    if not len(order):
        return np.full((len(queries), count), NOBODY)
    return np.where(exists, overlap.right[order[np.minimum(places, len(order) - 1)]], NOBODY)


def _without_repeats(
    candidates: Int[np.ndarray, "query candidate"],
) -> Int[np.ndarray, "query candidate"]:
    order = np.argsort(candidates, axis=1, kind="stable")
    ordered = np.take_along_axis(candidates, order, axis=1)
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = NOBODY
    return ordered


def find_candidates(
    structure: Structure,
    embeddings: Float32[np.ndarray, "column width"],
    config: RankingConfig,
) -> Int[np.ndarray, "key candidate"]:
    """The columns worth weighing for each key: nearest embeddings, and most overlapping values.

    With the paper's affinity, nearest embeddings only.

    Args:
        structure: The lake.
        embeddings: Its columns' unit vectors.
        config: How many candidates a key gets.

    Returns:
        Columns, each once; `NOBODY` fills the places left.
    """
    lake, keys = structure.lake, structure.keys
    index = ColumnIndex(embeddings, lake.table_of)
    near = index.search(embeddings[keys], lake.table_of[keys], config.candidates)
    if config.affinity is Affinity.HIN:
        return near
    alike = _overlapping(structure.overlap, keys, config.candidates // 2)
    return _without_repeats(np.hstack([near, alike]))


def rank(
    structure: Structure,
    embeddings: Float32[np.ndarray, "column width"],
    config: RankingConfig,
) -> Iterator[Suggestion]:
    """Ranks every key column's candidates.

    Args:
        structure: The lake.
        embeddings: Its columns' unit vectors.
        config: How many suggestions, how coherent, how good at least.

    Yields:
        The suggestions of one key after another, best first.
    """
    lake, keys = structure.lake, structure.keys
    candidates = find_candidates(structure, embeddings, config)
    weight = _weigh(structure, embeddings, config.affinity)
    twins = number_twins(lake)
    for start in range(0, len(keys), _CHUNK):
        queries, near = keys[start : start + _CHUNK], candidates[start : start + _CHUNK]
        relevance = weight.between(queries[:, None], near)[:, 0]
        relevance = np.where(near == NOBODY, -np.inf, relevance)
        picked = select_coherent(
            relevance,
            weight.between(near, near),
            count=config.top_k,
            coherence=config.coherence,
            twins=twins[near],
        )
        for query, row, scores, places in zip(queries, near, relevance, picked, strict=True):
            good = [p for p in places if p != NOBODY and scores[p] >= config.min_joinability]
            for place, choice in enumerate(good, start=1):
                yield Suggestion(
                    query=lake.ids[query],
                    candidate=lake.ids[row[choice]],
                    rank=place,
                    joinability=float(min(scores[choice], 1.0)),
                )
