r"""Find the key that each column of a lake refers to, if any.

A column refers to at most one key. Its candidates compete, and so does the possibility that it
refers to none of them:

$$P(a \to b) = \frac{e^{s(a, b)}}{1 + \sum_{b'} e^{s(a, b')}}$$

The score s adds the evidence of values, names and tables as log-odds. References between tables of
one database support each other: a first pass finds groups of tables that refer to one another, and
the second pass discounts references that leave the group.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

import numpy as np
from jaxtyping import Float, Int

from datahub_hyperjoin.joins import KnownNamesakes
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import (
    Containments,
    ReferenceCandidates,
    find_reference_candidates,
)
from datahub_hyperjoin.model.roles.context import (
    Namesakes,
    find_common_keys,
    find_outdone_copies,
    follow_namesakes,
    group_tables,
    weigh_leaving,
    weigh_rejected_like,
)
from datahub_hyperjoin.model.roles.pair_scores import (
    DEFAULT_WEIGHTS,
    MAX_SCORE,
    ReferenceScorer,
    ReferenceWeights,
    TablePairs,
    normalise,
    score_references,
    split_pairs,
)
from datahub_hyperjoin.model.roles.reference_trees import (
    BestCandidates,
    Correction,
    DescribedCandidates,
)
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    Floats,
    Ints,
    Masks,
    PairFloats,
    PairInts,
    PairMask,
    find_among,
    number_pairs,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_NEGLIGIBLE = 1e-3
"""References with a lower probability are ignored."""
_SURE = 0.5
"""Minimum probability at which one key counts as referring to another key."""
_APART_IN_FOLDER = 0.5
"""Least share of the clue of groups that counts if two tables of different groups are in one folder
or schema. If there are others, they tell databases apart, too."""

NO_KEY = -1
"""The key of a column that refers to none."""
_NOT_ASKED = -2
_TRUST = 10.0
"""How many times likelier a language model chooses what is true than what is not."""


@dataclass(frozen=True)
class References:
    """Possible references, each with its probability."""

    # For each pair, the index of the column that may refer to a key. Pairs are sorted by column,
    # then by key.
    referring: PairInts
    # For each pair, the index of the key to which the column may refer.
    referenced: PairInts
    # Probability that the column refers to the key, in [0, 1]; the probabilities of all keys of a
    # column add up to at most 1.
    probability: PairFloats
    # The known references of each column's namesakes; None if they were not counted.
    namesakes: Namesakes | None = None
    # The probabilities if people had decided nothing; None if they did not.
    undecided: PairFloats | None = None

    def select(self, kept: PairMask) -> "References":
        """Return some of the references."""
        namesakes = self.namesakes and self.namesakes.select(kept)
        undecided = None if self.undecided is None else self.undecided[kept]
        ends = self.referring[kept], self.referenced[kept]
        return References(*ends, self.probability[kept], namesakes, undecided)

    def without_decisions(self) -> "References":
        """Return the references as they are if people decide nothing."""
        return self if self.undecided is None else replace(self, probability=self.undecided)

    @classmethod
    def empty(cls) -> "References":
        """Return an instance without references."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, np.zeros(0))

    def with_choices(self, choices: Mapping[int, int], columns: int) -> "References":
        """Return the references after a language model has chosen the keys of some columns.

        `choices` gives the chosen key of each such column, or `NO_KEY`; `columns` is the number of
        columns of the lake.
        """
        chosen = np.full(columns, _NOT_ASKED)
        chosen[[*choices]] = [*choices.values()]
        is_chosen = chosen[self.referring] == self.referenced
        asked = chosen[self.referring] != _NOT_ASKED

        def weigh(probability: PairFloats) -> PairFloats:
            of_none = 1 - np.bincount(self.referring, probability, columns)
            of_none = np.maximum(of_none, 0) * np.where(chosen == NO_KEY, _TRUST, 1.0)
            weighed = probability * np.where(is_chosen, _TRUST, 1.0)
            total = of_none + np.bincount(self.referring, weighed, columns)
            return np.where(asked, weighed / total[self.referring], probability)

        undecided = None if self.undecided is None else weigh(self.undecided)
        return replace(self, probability=weigh(self.probability), undecided=undecided)

    @cached_property
    def best(self) -> Mapping[int, tuple[int, float]]:
        """The key that each column most probably refers to, with the probability."""
        # Two columns never refer to each other: the more probable direction is kept. If a key
        # refers to another key, both are keys of the same things, and do not compete for a column.
        first = self._find_first()
        alike = self._find_alike(first)
        columns = np.repeat(np.array([*alike], dtype=np.int64), [*map(len, alike.values())])
        others = np.fromiter(chain(*alike.values()), np.int64, len(columns))
        found = iter(self._look_up(columns, others).tolist())
        return {
            column: (first[column][0], min(sum(islice(found, len(keys))), 1.0))
            for column, keys in alike.items()
        }

    def _find_first(self) -> Mapping[int, tuple[int, float]]:
        """Map each column to its most probable key."""
        first: dict[int, tuple[int, float]] = {}
        likely = np.flatnonzero(self.probability >= _NEGLIGIBLE)
        order = likely[np.argsort(-self.probability[likely], kind="stable")]
        for some in split_pairs(len(order)):
            values = (self.referring, self.referenced, self.probability)
            listed = (each[order[some]].tolist() for each in values)
            for column, key, probability in zip(*listed, strict=True):
                if column not in first and first.get(key, (-1,))[0] != column:
                    first[column] = key, probability
        return first

    def _find_alike(self, first: Mapping[int, tuple[int, float]]) -> Mapping[int, Sequence[int]]:
        """For each column, find its key and the keys that are linked to this key."""
        extensions: dict[int, list[int]] = defaultdict(list)
        keys = {*np.unique(self.referenced).tolist()}
        for column, (key, probability) in first.items():
            if column in keys and probability >= _SURE:
                extensions[key].append(column)
        alike: dict[int, Sequence[int]] = {}
        for column, (key, _) in first.items():
            linked = {key, *extensions.get(key, ())}
            base, sure = first.get(key, (key, 0.0))
            if sure >= _SURE:
                linked.add(base)
            alike[column] = [*(linked - {column})]
        return alike

    def _look_up(
        self, columns: Int[np.ndarray, " wanted"], keys: Int[np.ndarray, " wanted"]
    ) -> Float[np.ndarray, " wanted"]:
        """Return the probabilities of some references; 0 where they are negligible."""
        if not len(columns):
            return np.zeros(0)
        count = int(max(self.referring.max(), self.referenced.max())) + 1
        likely = np.flatnonzero(self.probability >= _NEGLIGIBLE)
        numbers = number_pairs(self.referring[likely], self.referenced[likely], count)
        wanted = number_pairs(columns, keys, count)
        at, found = find_among(numbers, wanted)
        return np.where(found, self.probability[likely[at]], 0.0)


def find_references(
    lake: Lake,
    overlap: ValueOverlap,
    priors: CatalogPriors,
    containments: Containments | None = None,
    weights: ReferenceWeights = DEFAULT_WEIGHTS,
    correct: Correction | None = None,
) -> References:
    """Find the key that each column probably refers to.

    `correct` returns what to add to the scores of the best candidates.
    """
    lake = lake if weights.reads_names else _without_names(lake)
    candidates = find_reference_candidates(lake, overlap, priors, containments or {})
    return weigh_candidates(lake, priors, candidates, weights, correct=correct)


def weigh_candidates(
    lake: Lake,
    priors: CatalogPriors,
    candidates: ReferenceCandidates,
    weights: ReferenceWeights,
    further: PairFloats | float = 0.0,
    correct: Correction | None = None,
) -> References:
    """For each possible reference, convert the summed log-odds of its clues to a probability."""
    ends = candidates.referring, candidates.referenced
    connected = priors.connected.holds(*ends)
    # Clues compare pairs, groups hold tables together, and the trees never saw decisions. So only
    # the last step knows them, and a decision moves no pair but those that it is about.
    stated = priors.without_decisions().connected.holds(*ends) if priors.is_decided else connected
    scorer = ReferenceScorer.of(lake, priors, candidates.is_key, weights)
    scores, tables, labels, label_shares = score_references(candidates, scorer)
    scores += further
    best = BestCandidates.of(candidates, scores, len(lake), weights.corrected) if correct else None
    # Large lakes have hundreds of pairs for each column, so what was scored is forgotten.
    candidates = candidates.without_values()
    scores += weights.catalog * stated
    if tables.elsewhere.any():
        before = normalise(candidates.referring, scores)
        scores[tables.elsewhere] += weigh_leaving(before, tables.elsewhere)
    groups = _discount_other_groups(lake, candidates, tables, scores, weights)
    # Only now, since tables that share labels may well belong to one group.
    scores[labels] += weights.labels * label_shares
    # Only now, too: tables of several copies may well belong to one group.
    _leave_to_copies(lake, candidates, tables, scores, connected)
    namesakes = follow_namesakes(lake, candidates, stated, scores, groups[0])
    for some in split_pairs(len(scores)):
        scores[some] += weights.namesake * namesakes.select(some).share
    probability = normalise(candidates.referring, scores)
    common = find_common_keys(lake, candidates, scores, probability, tables.elsewhere)
    del probability
    for some in split_pairs(len(scores)):
        scores[some] += weights.common_key * common[some]
    del common
    if correct and best and len(best.at):
        scores[best.at] += correct(DescribedCandidates.of(lake, scorer, best, scores[best.at]))
    found = References(*ends, normalise(candidates.referring, scores), namesakes)
    if not priors.is_decided:
        return found
    told = follow_namesakes(lake, candidates, connected, scores, groups[0])
    scores += weights.namesake * (told.share - namesakes.share)
    scores += weights.catalog * (connected & ~stated)
    _reject(lake, candidates, priors, weights, found.probability, scores)
    decided = normalise(candidates.referring, scores)
    return References(*ends, decided, told, undecided=found.probability)


def _reject(
    lake: Lake,
    candidates: ReferenceCandidates,
    priors: CatalogPriors,
    weights: ReferenceWeights,
    probability: PairFloats,
    scores: PairFloats,
) -> None:
    """Lower the scores of rejected references, and of those between columns of their names."""
    if weights.reads_names:
        like = weigh_rejected_like(lake, candidates, priors, probability)
        scores += weights.rejected * np.log2(1 + like)
    scores[priors.rejected.holds(candidates.referring, candidates.referenced)] = -MAX_SCORE


def _discount_other_groups(
    lake: Lake,
    candidates: ReferenceCandidates,
    tables: TablePairs,
    scores: PairFloats,
    weights: ReferenceWeights,
) -> Int[np.ndarray, "partition table"]:
    """Lower the scores of references between groups of tables, in place; return the groups."""
    groups = group_tables(lake, candidates, tables, normalise(candidates.referring, scores))
    # The share of all tables, as one more folder changes little for those of a great one.
    tables_in = np.bincount(lake.table_places)
    at_home = np.maximum(tables_in / len(lake.titles), _APART_IN_FOLDER)[lake.table_places]
    for some in split_pairs(len(scores)):
        left, right = (
            lake.table_of[each[some]] for each in (candidates.referring, candidates.referenced)
        )
        apart = np.not_equal(groups[:, left], groups[:, right]).mean(axis=0)
        apart *= np.where(tables.elsewhere[some], 1.0, at_home[left])
        scores[some] += weights.other_group * apart
    return groups


def _leave_to_copies(
    lake: Lake,
    candidates: ReferenceCandidates,
    tables: TablePairs,
    scores: PairFloats,
    stated: PairMask,
) -> None:
    """Give the odds of references to outdone copies of a key to the best copy, in place."""
    # References that the catalog states keep theirs.
    outdone, by = find_outdone_copies(lake, candidates, scores, tables.elsewhere)
    unstated = ~stated[outdone]
    outdone, by = outdone[unstated], by[unstated]
    np.logaddexp.at(scores, by[by >= 0], scores[outdone[by >= 0]])
    scores[outdone] = -MAX_SCORE


def _without_names(lake: Lake) -> Lake:
    """Return a copy of the lake in which all names are empty."""
    nameless = [replace(profile, id=replace(profile.id, path="")) for profile in lake.profiles]
    return replace(lake, profiles=tuple(nameless), titles=("",) * len(lake.titles))


@dataclass(frozen=True)
class Relations:
    """The key that each column refers to, and the probability of each reference."""

    key: ColumnInts  # the key that each column refers to, or `NO_KEY`
    # Probability that each column refers to its `key`, in [0, 1]; 0 for `NO_KEY`.
    probability: ColumnFloats
    # The known references of each column's namesakes; None if they were not counted.
    namesakes: Namesakes | None = None

    @classmethod
    def from_references(cls, references: References, columns: int) -> "Relations":
        """For each column, select its most probable reference."""
        key, probability = np.full(columns, NO_KEY), np.zeros(columns)
        for column, (referenced, likely) in references.best.items():
            key[column], probability[column] = referenced, likely
        return cls(key, probability, _of_best(references, key))

    def namesakes_of(self, column: int) -> KnownNamesakes | None:
        """Return how many namesakes of a column refer to the same key as the column."""
        if self.namesakes is None or not self.namesakes.agreeing[column]:
            return None
        known, agreeing = self.namesakes.known[column], self.namesakes.agreeing[column]
        return KnownNamesakes(known=int(known), agreeing=int(agreeing))

    @cached_property
    def _referring(self) -> Int[np.ndarray, " reference"]:
        """All columns that refer to a key, sorted by key."""
        order = np.lexsort((-self.probability, self.key))
        return order[self.key[order] != NO_KEY]

    @cached_property
    def _keys(self) -> Int[np.ndarray, " reference"]:
        """The key that each column in `_referring` refers to, in the same order."""
        return self.key[self._referring]

    def referring_to(self, key: int) -> ColumnInts:
        """Return the columns that refer to a given key, most probable first."""
        return self._referring[slice(*np.searchsorted(self._keys, [key, key + 1]))]

    def between(self, left: Ints, right: Ints, shares: Masks | bool = True) -> Floats:  # noqa: FBT001, FBT002 - of each pair
        """For each pair, return the probability that its columns are related by references.

        Two columns that refer to one key are related where they share values, which `shares` marks.
        """
        first, second = self.probability[left], self.probability[right]
        forward = np.where(self.key[left] == right, first, 0.0)
        backward = np.where(self.key[right] == left, second, 0.0)
        siblings = np.where((self.key[left] == self.key[right]) & shares, first * second, 0.0)
        return np.maximum(np.maximum(forward, backward), siblings)


def _of_best(references: References, key: ColumnInts) -> Namesakes | None:
    """For each column, return what its namesakes tell about the key that it refers to."""
    if references.namesakes is None:
        return None
    known, agreeing = np.zeros((2, len(key)), dtype=np.int64)
    chosen = np.flatnonzero(key[references.referring] == references.referenced)
    known[references.referring[chosen]] = references.namesakes.known[chosen]
    agreeing[references.referring[chosen]] = references.namesakes.agreeing[chosen]
    return Namesakes(known, agreeing)
