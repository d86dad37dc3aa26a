"""The columns worth weighing for each key column."""

import numpy as np
from jaxtyping import Float, Float32, Int

from datahub_hyperjoin.model.config import RankingConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE, ColumnIndex


def _best(
    pairs: tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]],
    values: Float[np.ndarray, " pair"],
    queries: Int[np.ndarray, " query"],
    count: int,
) -> Int[np.ndarray, "query candidate"]:
    """Each query's partners among pairs listed by their left column, greatest value first."""
    left, right = pairs
    order = np.lexsort((right, -values, left))
    starts = np.searchsorted(left, queries)
    sizes = np.searchsorted(left, queries, side="right") - starts
    places = starts[:, None] + np.arange(count)
    exists = np.arange(count) < sizes[:, None]
    if not len(order):
        return np.full((len(queries), count), NO_CANDIDATE)
    return np.where(exists, right[order[np.minimum(places, len(order) - 1)]], NO_CANDIDATE)


def _without_repeats(
    candidates: Int[np.ndarray, "query candidate"],
) -> Int[np.ndarray, "query candidate"]:
    order = np.argsort(candidates, axis=1, kind="stable")
    ordered = np.take_along_axis(candidates, order, axis=1)
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = NO_CANDIDATE
    return ordered


def _mentioned(structure: LakeIndex, count: int) -> list[Int[np.ndarray, "key candidate"]]:
    """What the catalog and its people say joins with each key; nothing, if they are silent."""
    known, table_of = structure.known, structure.lake.table_of
    found = []
    for pairs in (known.stated, known.accepted):
        apart = table_of[pairs.left] != table_of[pairs.right]
        ends = pairs.left[apart], pairs.right[apart]
        if apart.any():
            # No wider than needed: ranking costs the square of the width.
            most = min(int(np.bincount(ends[0]).max()), count)
            found.append(_best(ends, pairs.values[apart], structure.keys, most))
    return found


def find_candidates(
    structure: LakeIndex,
    embeddings: Float32[np.ndarray, "column width"],
    config: RankingConfig,
) -> Int[np.ndarray, "key candidate"]:
    """Nearest embeddings, most alike names and cells, most overlap, and what the catalog says.

    Overlap is of values, and of the things that they stand for. With the paper's affinity, names,
    cells and values don't count. What people rejected is never one.

    Args:
        structure: The lake.
        embeddings: Its columns' unit vectors.
        config: How many candidates a key gets from each.

    Returns:
        Columns of other tables, each once; `NO_CANDIDATE` fills the places left.
    """
    lake, keys, overlap = structure.lake, structure.keys, structure.overlap

    def nearest(vectors: Float32[np.ndarray, "column width"]) -> Int[np.ndarray, "key candidate"]:
        index = ColumnIndex(vectors, lake.table_of)
        return index.search(vectors[keys], lake.table_of[keys], config.candidates)

    found = [nearest(embeddings)]
    if config.affinity is Scoring.BLEND:  # Without the network, names are the embeddings.
        found.append(nearest(structure.names.vectors()))
    if config.affinity is not Scoring.HIN:
        found.append(nearest(structure.cells.vectors))
        ends = overlap.left, overlap.right
        found.append(_best(ends, overlap.either_way, keys, config.candidates // 2))
        things = structure.entities.pairs
        ends = things.left, things.right
        found.append(_best(ends, things.values, keys, config.candidates))
    found += _mentioned(structure, config.candidates)
    candidates = _without_repeats(np.hstack(found)) if len(found) > 1 else found[0]
    rejected = structure.known.rejected.holds(*np.broadcast_arrays(keys[:, None], candidates))
    return np.where(rejected, NO_CANDIDATE, candidates)
