"""Collect the candidates of each key column."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Int32

from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.nearest import (
    COMPARED_CELLS,
    NO_CANDIDATE,
    Candidates,
    ColumnIndex,
)
from datahub_hyperjoin.model.ranking.pair_features import statistics_vectors, unit_rows
from datahub_hyperjoin.model.signals.cells import StoredVectors
from datahub_hyperjoin.model.signals.names import NameSimilarity
from datahub_hyperjoin.model.signals.pairs import (
    KeyInts,
    PairFloats,
    PairInts,
    PairValues,
    SparsePairs,
    Vectors,
    chunks,
)

_KEYS = 8192
"""Number of key columns whose candidates are sorted at once, which bounds memory."""

_MANY = 1 << 15
"""Number of columns above which similar cells are searched among columns of the same kind."""

Note = Callable[[str], object]
"""Receives the name of each source that was searched approximately, because the lake is large."""

_Source = tuple[str, Candidates]
"""The name of a source, and the candidates that this source finds for each key column."""


def _best_partners(
    pairs: SparsePairs, values: Callable[[slice], PairFloats], keys: KeyInts, count: int
) -> Candidates:
    """For each key column, return the `count` partners with the highest values, best first."""
    found = [np.full((0, count), NO_CANDIDATE, dtype=np.int32)]
    for block in chunks(len(keys), _KEYS):
        some = keys[block]
        # Pairs are sorted by their left column, so those of ascending keys are one slice of them.
        at = slice(pairs.starts[some[0]], pairs.starts[some[-1] + 1])
        found.append(_best_of(pairs.left[at], pairs.right[at], values(at), some, count))
    return np.concatenate(found)


def _best_of(
    left: PairInts, right: PairInts, values: PairFloats, keys: KeyInts, count: int
) -> Candidates:
    if not len(values):
        return np.full((len(keys), count), NO_CANDIDATE, dtype=np.int32)
    # Of equal values the smaller index comes first, so that every run chooses the same: the pairs
    # are sorted by their right columns already, and the sort is stable. Sorting the values within
    # each left column leaves the partners of every column in their place.
    order = np.lexsort((-values, left))
    start = np.searchsorted(left, keys)
    partners = np.searchsorted(left, keys, side="right") - start
    # Positions past the end are masked below; the minimum only keeps them valid.
    position = np.minimum(start[:, None] + np.arange(count), len(order) - 1)
    exists = np.arange(count) < partners[:, None]
    return np.where(exists, right[order[position]], NO_CANDIDATE).astype(np.int32)


def _without_repeats(candidates: Candidates) -> Candidates:
    order = np.argsort(candidates, axis=1, kind="stable")
    ordered = np.take_along_axis(candidates, order, axis=1)
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = NO_CANDIDATE
    return ordered


def _packed(candidates: Candidates) -> Int32[np.ndarray, "query fewer"]:
    """Move the candidates of each key column to the front, and drop positions that nobody fills."""
    # Sources repeat each other's candidates, and the ranking scores empty positions, too.
    filled = candidates != NO_CANDIDATE
    width = int(filled.sum(axis=1).max(initial=0))
    order = np.argsort(~filled, axis=1, kind="stable")[:, :width]
    return np.take_along_axis(candidates, order, axis=1)


def _stack(parts: Sequence[Int32[np.ndarray, "_ _"]]) -> Candidates:
    """Stack the candidates of all key columns, of which some have fewer positions."""
    width = max(part.shape[1] for part in parts)
    return np.vstack(
        [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=NO_CANDIDATE) for p in parts]
    )


def _from_catalog(index: LakeIndex, count: int) -> Iterator[_Source]:
    """Yield two sources of candidates: catalog evidence, and pairs that people accepted."""
    table_of, priors = index.lake.table_of, index.priors
    for name, pairs in (("catalog", priors.join_probability), ("decisions", priors.accepted)):
        across = pairs.select(table_of[pairs.left] != table_of[pairs.right])
        yield from ((name, best) for best in _strongest(across, index.keys, count))


def _strongest(pairs: PairValues, keys: KeyInts, count: int) -> list[Candidates]:
    """Find the strongest partners of each key column."""
    # No wider than needed, because the cost of ranking grows with the square of the positions.
    if not len(pairs):
        return []
    width = min(int(np.bincount(pairs.left).max()), count)
    return [_best_partners(pairs, pairs.values.__getitem__, keys, width)]


def _from_signals(index: LakeIndex, count: int, note: Note) -> Iterator[_Source]:
    """For each signal, yield the best partners of all key columns."""
    keys, overlap = index.keys, index.overlap
    yield _with_similar_cells(index, count, note)
    yield "values", _best_partners(overlap, overlap.either_way, keys, count // 2)
    yield "entities", index.entities.partners(keys, count)
    yield from (("crosswalks", best) for best in _strongest(index.crosswalks.pairs, keys, count))


def _from_descriptions(index: LakeIndex, count: int, note: Note) -> Iterator[_Source]:
    """For each key column, yield the columns with the most similar statistics, names or titles."""
    statistics = statistics_vectors(index)
    names = index.names.vectors()
    titles = NameSimilarity(index.lake.titles).vectors()[index.lake.table_of]
    for source, parts in {
        "statistics": (statistics,),
        "names and titles": (names, titles),
        "names, titles and statistics": (names, titles, statistics),
    }.items():
        yield _nearest(index, source, StoredVectors.of(unit_rows(np.hstack(parts))), count, note)


def _from_relations(index: LakeIndex, count: int) -> list[Candidates]:
    """For each key column, find up to `count` columns that are related to it by references."""
    relations, keys, table_of = index.relations, index.keys, index.lake.table_of
    widths = np.bincount(table_of)
    found = np.full((len(keys), count), NO_CANDIDATE, dtype=np.int32)
    longest = 0
    for row, key in enumerate(keys.tolist()):
        # Thousands of columns may refer to one key; those past the first `count` from other tables
        # are never chosen.
        enough = count + 1 + widths[table_of[key]]
        other = int(relations.key[key])
        related = np.concatenate(
            [[other], relations.referring_to(key)[:enough], relations.referring_to(other)[:enough]]
        )
        longest = max(longest, len(related))
        chosen = related[(related != NO_CANDIDATE) & (table_of[related] != table_of[key])][:count]
        found[row, : len(chosen)] = chosen
    width = min(longest, count)
    return [found[:, :width]] if width else []


def _nearest(
    index: LakeIndex, source: str, vectors: StoredVectors, count: int, note: Note
) -> _Source:
    columns = ColumnIndex(vectors, index.lake.table_of)
    if not columns.is_exact:
        note(source)
    return source, columns.neighbours(index.keys, count)


def _with_similar_cells(index: LakeIndex, count: int, note: Note) -> _Source:
    """For each key column, find the columns with the most similar cells."""
    # In large lakes, texts for a text and other columns for another: half of the comparisons.
    source, vectors, is_text = "cells", index.cells.vectors, index.lake.is_text
    if len(index.lake) <= _MANY:
        return _nearest(index, source, vectors, count, note)
    found = np.full((len(index.keys), count), NO_CANDIDATE, dtype=np.int32)
    is_exact = True
    for kind in (is_text, ~is_text):
        members, asked = np.flatnonzero(kind), np.flatnonzero(kind[index.keys])
        if not len(asked):
            continue
        tables = index.lake.table_of[members]
        columns = ColumnIndex(vectors.select(members), tables, COMPARED_CELLS)
        near = columns.neighbours(np.searchsorted(members, index.keys[asked]), count)
        found[asked] = np.where(near == NO_CANDIDATE, NO_CANDIDATE, members[near])
        is_exact &= columns.is_exact
    if not is_exact:
        note(source)
    return source, found


def note_nothing(source: str) -> None:
    """Ignore the name of a source, for callers that do not report it."""


def candidate_sources(
    index: LakeIndex, embeddings: Vectors, config: ModelConfig, note: Note = note_nothing
) -> Iterator[tuple[str, Candidates]]:
    """For each source of candidates, yield its name and the candidates of all key columns."""
    # The paper's scoring uses embeddings and the catalog only.
    count, scoring = config.setting.candidates, config.ranking.scoring
    # Without the network, the embeddings are those of the names.
    first = "names" if scoring is Scoring.SIGNALS else "network"
    yield _nearest(index, first, StoredVectors.of(embeddings), count, note)
    if scoring is Scoring.BLEND:
        yield _nearest(index, "names", StoredVectors.of(index.names.vectors()), count, note)
    if scoring is not Scoring.HIN:
        from_columns = _from_signals if index.features.values else _from_descriptions
        yield from from_columns(index, count, note)
        yield from (("references", related) for related in _from_relations(index, count))
    yield from _from_catalog(index, count)


def find_candidates(
    index: LakeIndex, embeddings: Vectors, config: ModelConfig, note: Note = note_nothing
) -> Candidates:
    """Collect the candidates of each key column from all sources, such as similar names."""
    named = candidate_sources(index, embeddings, config, note)
    sources = [candidates for _, candidates in named]
    parts = [_packed(_merge(index, sources, some)) for some in chunks(len(index.keys), _KEYS)]
    return _stack(parts) if parts else np.hstack(sources)


def _merge(
    index: LakeIndex, sources: Sequence[Int32[np.ndarray, "key _"]], at: slice
) -> Candidates:
    """Merge the candidates of all sources for some key columns, but no rejected ones or copies."""
    candidates = np.hstack([source[at] for source in sources])
    if len(sources) > 1:
        candidates = _without_repeats(candidates)
    pairs = np.broadcast_arrays(index.keys[at, None], np.maximum(candidates, 0))
    dropped = index.priors.rejected.holds(*pairs) | index.are_apart(*pairs)
    return np.where(dropped, NO_CANDIDATE, candidates).astype(np.int32)
