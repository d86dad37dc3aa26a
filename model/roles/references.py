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
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import (
    Containments,
    ReferenceCandidates,
    find_reference_candidates,
)
from datahub_hyperjoin.model.roles.copied_keys import find_outdone_copies
from datahub_hyperjoin.model.roles.name_clues import column_stems
from datahub_hyperjoin.model.roles.namesakes import Namesakes, follow_namesakes
from datahub_hyperjoin.model.roles.pair_scores import score_references, split_pairs
from datahub_hyperjoin.model.roles.table_clues import title_number
from datahub_hyperjoin.model.roles.table_groups import TablePairs, group_tables
from datahub_hyperjoin.model.roles.weights import DEFAULT_WEIGHTS, ReferenceWeights
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.pairs import number_pairs
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.signals.stems import Words, meaningful_words

# If tables of many folders have a `customer_id`, and their own folder has no such key, they
# probably all refer to the same `customers`. Each column alone may fit several keys of that name.
# Together, the columns hold more of the key's values, so their scores are added up.

_LEAST_FOLDERS = 3
"""Minimum number of folders with columns of one name."""
_LEAST_ABROAD = 0.2
"""Minimum probability that a column refers to any key of another folder."""
_MOST_BEHIND = 5.0
"""Log-odds by which a key is at most worse than the best for one column. Without a limit, a single
column could rule out a key."""
_FITS = np.log(4)
"""A key fits a column if it is worse than the best by at most these log-odds."""

_Pairs = Float[np.ndarray, " pair"]


def find_common_keys(
    lake: Lake,
    candidates: ReferenceCandidates,
    scores: _Pairs,
    probability: _Pairs,
    elsewhere: Bool[np.ndarray, " pair"],
) -> _Pairs:
    """For each pair, estimate how probably the key is that of all columns with the column's name.

    Args:
        elsewhere: The pairs whose tables are in different folders or schemas.

    Returns:
        Numbers in [0, 1]; 0 for the other pairs, and where the key fits at most half of the
        columns, as where two halves of the columns refer to two keys.
    """
    common = np.zeros(len(scores))
    if not elsewhere.any():
        return common
    names = _number_names(lake)
    abroad = np.bincount(candidates.referring[elsewhere], probability[elsewhere], len(lake))
    at_home, best = (np.full(len(lake), -np.inf) for _ in range(2))
    np.maximum.at(at_home, candidates.referring[~elsewhere], scores[~elsewhere])
    np.maximum.at(best, candidates.referring[elsewhere], scores[elsewhere])
    # Other columns are keys themselves, or refer to a key of their own folder, or to none.
    votes = (abroad >= _LEAST_ABROAD) & (best > at_home) & (names > 0) & ~candidates.is_key
    in_many = _are_in_many(names, lake.place_of, votes)
    chosen = np.flatnonzero(elsewhere & in_many[candidates.referring])
    if not len(chosen):
        return common
    column, key = candidates.referring[chosen], candidates.referenced[chosen]
    behind = np.minimum(best[column] - scores[chosen], _MOST_BEHIND)
    pairs, of_pair = np.unique(number_pairs(names[column], key, len(lake)), return_inverse=True)
    name = pairs // len(lake)
    voters = np.bincount(names[np.unique(column)], minlength=int(name.max()) + 1)[name]
    # A key that shares no value with a column is as far behind as a key can be.
    total = np.bincount(of_pair, behind - _MOST_BEHIND) + _MOST_BEHIND * voters
    fits = np.bincount(of_pair, behind <= _FITS) / voters
    least = np.full(int(name.max()) + 1, np.inf)
    np.minimum.at(least, name, total)
    odds = np.exp(least[name] - total)
    share = odds / np.bincount(name, odds)[name]
    common[chosen] = (share * np.maximum(2 * fits - 1, 0.0))[of_pair]
    return common


def _number_names(lake: Lake) -> Int[np.ndarray, " column"]:
    """Give columns of one name the same positive number; generic names such as `id` get 0.

    Names of tables that end in different numbers tell copies of a database apart.
    """
    numbers: dict[tuple[Words, str], int] = {}
    copies = [title_number(title) for title in lake.titles]
    named = zip(column_stems(lake), lake.table_of.tolist(), strict=True)
    return np.array(
        [
            numbers.setdefault((words, copies[table]), len(numbers) + 1)
            if meaningful_words(words)
            else 0
            for words, table in named
        ],
        dtype=np.int64,
    )


def _are_in_many(
    names: Int[np.ndarray, " column"],
    folders: Int[np.ndarray, " column"],
    chosen: Bool[np.ndarray, " column"],
) -> Bool[np.ndarray, " column"]:
    """Select those of the chosen columns whose name chosen columns of enough folders have."""
    held = np.unique(np.stack([names[chosen], folders[chosen]]), axis=1)[0]
    enough = np.bincount(held, minlength=int(names.max(initial=0)) + 1) >= _LEAST_FOLDERS
    return chosen & enough[names]


_NEGLIGIBLE = 1e-3
"""References with a lower probability are ignored."""
_SURE = 0.5
"""Minimum probability at which one key counts as referring to another key."""
_MAX_SCORE = 30.0
"""Greatest score, which keeps exponentials finite."""
_APART_IN_FOLDER = 0.5
"""Share of the clue of groups that counts if two tables of different groups are in one of several
folders or schemas. These tell databases apart, too."""


@dataclass(frozen=True)
class References:
    """Possible references, each with its probability."""

    referring: Int[np.ndarray, " pair"]
    """For each pair, the index of the column that may refer to a key. Pairs are sorted by column,
    then by key."""

    referenced: Int[np.ndarray, " pair"]
    """For each pair, the index of the key to which the column may refer."""

    probability: Float[np.ndarray, " pair"]
    """Probability that the column refers to the key, in [0, 1]; the probabilities of all keys of a
    column add up to at most 1."""

    namesakes: Namesakes | None = None
    """The known references of each column's namesakes; None if they were not counted."""

    def select(self, kept: Bool[np.ndarray, " pair"]) -> "References":
        """Return some of the references."""
        namesakes = self.namesakes and self.namesakes.select(kept)
        ends = self.referring[kept], self.referenced[kept]
        return References(*ends, self.probability[kept], namesakes)

    @classmethod
    def empty(cls) -> "References":
        """Return an instance without references."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, np.zeros(0))

    @cached_property
    def best(self) -> Mapping[int, tuple[int, float]]:
        """The key that each column most probably refers to, and the probability of this reference.

        Two columns never refer to each other: the more probable direction is kept. If a key refers
        to another key, both are keys of the same things, and do not compete for a column.
        """
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
        """Map each column to its most probable key.

        The most probable references come first. A key that already refers to a column cannot become
        the key of that column.
        """
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
        """For each column, find its key and the keys that are linked to this key.

        Two keys are linked if one probably refers to the other.
        """
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
        at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
        return np.where(numbers[at] == wanted, self.probability[likely[at]], 0.0)


def find_references(
    lake: Lake,
    overlap: ValueOverlap,
    priors: CatalogPriors,
    containments: Containments | None = None,
    weights: ReferenceWeights = DEFAULT_WEIGHTS,
) -> References:
    """Find the key that each column probably refers to."""
    lake = lake if weights.reads_names else _without_names(lake)
    return weigh_candidates(
        lake,
        priors,
        find_reference_candidates(lake, overlap, priors, containments or {}),
        weights,
    )


def weigh_candidates(
    lake: Lake,
    priors: CatalogPriors,
    candidates: ReferenceCandidates,
    weights: ReferenceWeights,
    further: Float[np.ndarray, " pair"] | float = 0.0,
) -> References:
    """For each possible reference, convert the summed log-odds of its clues to a probability.

    Args:
        further: Log-odds of each pair by clues that are not among the weights.
    """
    connected = priors.connected.holds(candidates.referring, candidates.referenced)
    scores, tables, labels = score_references(lake, priors, candidates, weights)
    # Large lakes have hundreds of pairs for each column, so what was scored is forgotten.
    candidates = candidates.without_values()
    scores += weights.catalog * connected
    scores += further
    groups = _discount_other_groups(lake, candidates, tables, scores, weights)
    # Only now, since tables that share labels may well belong to one group.
    scores[labels.at] += weights.labels * labels.share
    # Only now, too: tables of several copies may well belong to one group.
    _leave_to_copies(lake, candidates, tables, scores, connected)
    namesakes = follow_namesakes(lake, candidates, connected, scores, groups[0])
    for some in split_pairs(len(scores)):
        scores[some] += weights.namesake * namesakes.select(some).share
    probability = _normalise(candidates.referring, scores)
    common = find_common_keys(lake, candidates, scores, probability, tables.elsewhere)
    del probability
    for some in split_pairs(len(scores)):
        scores[some] += weights.common_key * common[some]
    del common
    probability = _normalise(candidates.referring, scores)
    return References(candidates.referring, candidates.referenced, probability, namesakes)


def _discount_other_groups(
    lake: Lake,
    candidates: ReferenceCandidates,
    tables: TablePairs,
    scores: Float[np.ndarray, " pair"],
    weights: ReferenceWeights,
) -> Int[np.ndarray, "partition table"]:
    """Lower the scores of references between groups of tables, in place; return the groups.

    Returns:
        The group of each table, in each of several partitions.
    """
    groups = group_tables(lake, candidates, tables, _normalise(candidates.referring, scores))
    has_folders = len({*filter(None, lake.places)}) > 1
    for some in split_pairs(len(scores)):
        apart = np.not_equal(
            groups[:, lake.table_of[candidates.referring[some]]],
            groups[:, lake.table_of[candidates.referenced[some]]],
        ).mean(axis=0)
        if has_folders:
            apart[~tables.elsewhere[some]] *= _APART_IN_FOLDER
        scores[some] += weights.other_group * apart
    return groups


def _leave_to_copies(
    lake: Lake,
    candidates: ReferenceCandidates,
    tables: TablePairs,
    scores: Float[np.ndarray, " pair"],
    stated: Bool[np.ndarray, " pair"],
) -> None:
    """Give the odds of references to outdone copies of a key to the best copy, in place.

    References that the catalog states keep theirs.
    """
    outdone, by = find_outdone_copies(lake, candidates, scores, tables.elsewhere)
    unstated = ~stated[outdone]
    outdone, by = outdone[unstated], by[unstated]
    np.logaddexp.at(scores, by[by >= 0], scores[outdone[by >= 0]])
    scores[outdone] = -_MAX_SCORE


def _without_names(lake: Lake) -> Lake:
    """Return a copy of the lake in which all names are empty."""
    nameless = [replace(profile, id=replace(profile.id, path="")) for profile in lake.profiles]
    return replace(lake, profiles=tuple(nameless), titles=("",) * len(lake.titles))


def _normalise(
    column: Int[np.ndarray, " pair"], scores: Float[np.ndarray, " pair"]
) -> Float[np.ndarray, " pair"]:
    """Convert the scores of each column's possible keys to probabilities.

    The odds that the column refers to no key are set to 1.
    """
    # In place, since there may be hundreds of pairs for each column.
    odds = np.clip(scores, -_MAX_SCORE, _MAX_SCORE)
    np.exp(odds, out=odds)
    total = 1 + np.bincount(column, odds, minlength=int(column.max(initial=-1)) + 1)
    for some in split_pairs(len(odds)):
        odds[some] /= total[column[some]]
    return odds
