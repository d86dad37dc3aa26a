"""Find pairs of columns that join through a crosswalk.

A crosswalk is a table that holds codes and names of the same things in two columns. Another
table's codes and a third table's names share no value, but the crosswalk's rows connect them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.arrow_bytes import starts_run
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import NameSimilarity
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnMask,
    PairInts,
    PairValues,
    SomeInts,
    group_equal,
    number_pairs,
    ranks_in_runs,
)
from datahub_hyperjoin.model.signals.partners import most_partners
from datahub_hyperjoin.model.signals.sketches import trust_in_numbers, weigh_shared
from datahub_hyperjoin.tables import DataType

_MIN_UNIQUENESS = 0.9
"""Minimum uniqueness of both columns of a crosswalk: two unique columns determine each other."""
_MIN_DISTINCT = 10
"""Minimum number of distinct values in each column of a crosswalk; a few codes match by chance."""
_MAX_LENGTH = 200.0
"""Maximum mean length of the values in a crosswalk's columns, in characters. Names may be longer
than keys, but prose names nothing."""
_MIN_STEP = 0.4
"""Minimum strength of each step of a join through a crosswalk. Weaker overlap of short codes is
mostly chance."""
_MAX_DIRECT = 0.1  # two columns with at least this containment join directly, and need no crosswalk
_MAX_STEPS = 256
"""Maximum number of steps that are considered for each crosswalk, strongest first. The cost grows
with the square of this number."""
_AT_ONCE = 1 << 20
"""Number of chains that are collected before all but the best of each pair are dropped."""


@dataclass(frozen=True)
class CrosswalkOverlap:
    """Pairs of columns that join through a crosswalk, each with its best crosswalk."""

    pairs: PairValues
    via: PairInts  # for each pair, the column of the crosswalk that the left column matches

    @classmethod
    def empty(cls, columns: int) -> "CrosswalkOverlap":
        """Return an instance without pairs."""
        return cls(PairValues.from_mapping(columns, {}), np.zeros(0, dtype=np.int64))

    def steps(self, left: PairInts, right: PairInts) -> Int[np.ndarray, "pair 2"]:
        """Return the two crosswalk columns that connect each pair of columns; -1 if none do."""
        ends = np.column_stack([left, right])
        return np.append(self.via, -1)[self.pairs.locate(ends, ends[:, ::-1])]


@dataclass(frozen=True)
class _Steps:
    """Steps of joins through crosswalks, each from a column to a column of a crosswalk."""

    end: Int[np.ndarray, " step"]
    via: Int[np.ndarray, " step"]
    strength: Float[np.ndarray, " step"]

    def at(self, places: SomeInts) -> "_Steps":
        return _Steps(self.end[places], self.via[places], self.strength[places])


@dataclass(frozen=True)
class _Chains:
    """Pairs of columns that a crosswalk connects, with the two columns of the crosswalk."""

    left: Int[np.ndarray, " chain"]
    right: Int[np.ndarray, " chain"]
    left_via: Int[np.ndarray, " chain"]
    right_via: Int[np.ndarray, " chain"]
    strength: Float[np.ndarray, " chain"]

    def at(self, places: SomeInts | Bool[np.ndarray, " chain"]) -> "_Chains":
        return _Chains(*(values[places] for values in vars(self).values()))


def find_crosswalks(
    lake: Lake, overlap: ValueOverlap, *, names: NameSimilarity, uniqueness: ColumnFloats
) -> CrosswalkOverlap:
    """Find pairs of columns that join only through a crosswalk."""
    # Two numbers in a row identify two different things as often as they are two codes of one
    # thing, so one of the crosswalk's two nearly unique columns must be text. Of a column with very
    # many partners in a large lake, the strongest pairs are kept, and those that keep the column.
    steps = _find_steps(lake, overlap, names, _crosswalk_columns(lake, uniqueness))
    most = most_partners(len(lake))
    best = _BestChains.none(len(lake))
    waiting, count = list[_Chains](), 0
    for group in group_equal(lake.table_of[steps.via]):
        waiting.append(best.without_weaker(_chain(lake, steps.at(group))))
        count += len(waiting[-1].left)
        if count > max(_AT_ONCE, len(best.chains.left)):
            best, waiting, count = best.add(overlap, waiting, most), [], 0
    return _index(len(lake), best.add(overlap, waiting, most).chains)


@dataclass(frozen=True)
class _BestChains:
    """The strongest crosswalk of each pair, of the strongest pairs of each column."""

    chains: _Chains
    # Strength of the weakest pair that each column keeps; 0 if it has room for more.
    least: ColumnFloats

    @classmethod
    def none(cls, columns: int) -> "_BestChains":
        """Return an instance without pairs."""
        none = np.zeros(0, dtype=np.int32)
        return cls(_Chains(none, none, none, none, np.zeros(0)), np.zeros(columns))

    def without_weaker(self, chains: _Chains) -> _Chains:
        """Drop chains that neither of their columns would keep."""
        least = np.minimum(self.least[chains.left], self.least[chains.right])
        return chains.at(chains.strength >= least)

    def add(self, overlap: ValueOverlap, chains: Sequence[_Chains], most: int) -> "_BestChains":
        """Keep the `most` strongest pairs of each column, whatever its partners keep."""
        # Of equally strong pairs, those with the smallest other column count as stronger.
        columns = len(self.least)
        if not chains:
            return self
        further = _best_of(_concatenate(chains), columns)
        further = further.at(overlap.either_containment(further.left, further.right) < _MAX_DIRECT)
        every = _best_of(_concatenate([self.chains, further]), columns)
        column = np.concatenate([every.left, every.right])
        if np.bincount(column, minlength=1).max() <= most:
            return _BestChains(every, self.least)
        other, strength = np.concatenate([every.right, every.left]), np.tile(every.strength, 2)
        order = np.lexsort((other, -strength, column))
        rank = ranks_in_runs(column[order])
        least, last = self.least.copy(), order[rank == most - 1]
        least[column[last]] = strength[last]
        kept = np.unique(order[rank < most] % len(every.left))
        return _BestChains(every.at(kept), least)


def _crosswalk_columns(lake: Lake, uniqueness: ColumnFloats) -> ColumnMask:
    return (uniqueness >= _MIN_UNIQUENESS) & lake.mask(
        lambda profile: (
            profile.type in {DataType.TEXT, DataType.INTEGER}
            and profile.distinct >= _MIN_DISTINCT
            and profile.lengths.mean <= _MAX_LENGTH
        )
    )


def _find_steps(
    lake: Lake, overlap: ValueOverlap, names: NameSimilarity, in_crosswalk: ColumnMask
) -> _Steps:
    """Find the columns that match a column of a crosswalk, strongest match first."""
    chosen = in_crosswalk[overlap.right] & (overlap.beyond_chance >= _MIN_STEP)
    end, via = overlap.left[chosen], overlap.right[chosen]
    density = np.maximum(lake.density[end], lake.density[via])
    trust = trust_in_numbers(names.of(end, via), density)
    # Consecutive numbers match by chance; texts do not.
    trust[lake.is_text[end] & lake.is_text[via]] = 1.0
    strength = overlap.beyond_chance[chosen] * weigh_shared(overlap.shared[chosen]) * trust
    order = np.lexsort((via, end, -strength))
    return _Steps(end, via, strength).at(order[strength[order] >= _MIN_STEP])


def _chain(lake: Lake, steps: _Steps) -> _Chains:
    """Find the pairs of columns that a crosswalk connects, given the steps to this crosswalk."""
    steps = steps.at(np.arange(min(len(steps.end), _MAX_STEPS)))
    left, right = (side.ravel() for side in np.indices((len(steps.end),) * 2))
    end, via, is_text = steps.end, steps.via, lake.is_text[steps.via]
    # Two columns that match the same column of a crosswalk join directly, if at all.
    meets = (end[left] < end[right]) & (via[left] != via[right]) & (is_text[left] | is_text[right])
    meets &= lake.table_of[end[left]] != lake.table_of[end[right]]
    left, right = left[meets], right[meets]
    strength = steps.strength[left] * steps.strength[right]
    return _Chains(end[left], end[right], via[left], via[right], strength)


def _concatenate(chains: Sequence[_Chains]) -> _Chains:
    fields = (vars(chain).values() for chain in chains)
    return _Chains(*map(np.concatenate, zip(*fields, strict=True)))


def _best_of(chains: _Chains, columns: int) -> _Chains:
    """For each pair, keep the strongest crosswalk, and sort the pairs."""
    # Ties go to the crosswalk columns that come first in the lake.
    pairs = number_pairs(chains.left, chains.right, columns)
    order = np.argsort(pairs)
    pairs, strength = pairs[order], chains.strength[order]
    starts = np.flatnonzero(starts_run(pairs))
    strongest = np.maximum.reduceat(strength, starts) if len(starts) else strength
    via = number_pairs(chains.left_via, chains.right_via, columns)[order]
    via[strength < np.repeat(strongest, np.diff(starts, append=len(pairs)))] = columns**2
    first = np.minimum.reduceat(via, starts) if len(starts) else via
    ends = (*np.divmod(pairs[starts], columns), *np.divmod(first, columns))
    left, right, left_via, right_via = (each.astype(np.int32) for each in ends)
    return _Chains(left, right, left_via, right_via, strongest)


def _index(columns: int, chains: _Chains) -> CrosswalkOverlap:
    """Build a `CrosswalkOverlap` that has each pair in both orders."""
    left = np.concatenate([chains.left, chains.right])
    right = np.concatenate([chains.right, chains.left])
    order = np.lexsort((right, left))
    via = np.concatenate([chains.left_via, chains.right_via])
    strength = np.tile(chains.strength, 2)
    pairs = PairValues(columns, left[order], right[order], strength[order])
    return CrosswalkOverlap(pairs, via[order])
