"""Judge references by others: of one group of tables or place, to copies, of one column name."""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.pair_scores import TablePairs, split_pairs, title_number
from datahub_hyperjoin.model.signals.names import meaningful_words
from datahub_hyperjoin.model.signals.pairs import (
    ColumnInts,
    ColumnMask,
    PairFloats,
    PairInts,
    PairMask,
    find_among,
    number_distinct,
    number_pairs,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_Chosen = Int[np.ndarray, " chosen"]

_LIKELY = 0.2
"""Two tables may be grouped if a reference between them is more probable than this."""
_RESOLUTION = 0.5
"""Resolution of community detection; a value below 1 gives fewer and larger communities."""
_PARTITIONS = 9
"""Number of partitions."""


def group_tables(
    lake: Lake, candidates: ReferenceCandidates, tables: TablePairs, probability: PairFloats
) -> Int[np.ndarray, "partition table"]:
    """Group the tables that refer to each other or have similar columns."""
    # Many partitions of a lake are nearly as good, and a slight change of one table may lead to
    # another, so there are several.
    count = len(lake.titles)
    likely = np.flatnonzero(probability > _LIKELY)
    pairs = np.concatenate([likely, tables.alike])
    evidence = np.zeros((2, len(pairs)))
    evidence[0, : len(likely)] = probability[likely]
    evidence[1, len(likely) :] = tables.likeness
    ends = lake.table_of[np.stack([candidates.referring[pairs], candidates.referenced[pairs]])]
    apart = ends[0] != ends[1]
    evidence = evidence[:, apart]
    one, other = np.sort(ends[:, apart], axis=0)
    edges, edge = np.unique(number_pairs(one, other, count), return_inverse=True)
    if not len(edges):
        return np.arange(count)[np.newaxis]
    strongest = np.zeros((2, len(edges)))
    for strength, of_kind in zip(strongest, evidence, strict=True):
        np.maximum.at(strength, edge, of_kind)
    if len(edges) == 1:
        # Grouping its two tables always pays at this resolution, and the import takes long.
        together = np.arange(count)
        together[edges // count] = together[edges % count]
        return together[np.newaxis]
    # A run without changes needs neither.
    from scipy.sparse import coo_matrix  # noqa: PLC0415
    from sknetwork.clustering import Louvain  # noqa: PLC0415

    between = edges // count, edges % count
    half = coo_matrix((strongest.sum(axis=0), between), shape=(count, count)).tocsr()
    graph = (half + half.T).tocsr()
    linked = np.unique(edges // count), np.unique(edges % count)
    nodes = np.union1d(*linked)
    groups = np.tile(np.arange(count), (_PARTITIONS, 1))
    for seed, row in enumerate(groups):
        # Louvain depends on the order of the tables. Theirs is by chance, but that of their names,
        # so that one table more changes no other partition.
        drawn = [crc32(f"{seed} {lake.titles[table]}".encode()) for table in nodes.tolist()]
        order = nodes[np.argsort(drawn, kind="stable")]
        found = Louvain(_RESOLUTION).fit_predict(graph[order][:, order])
        row[order] = order[np.unique(found, return_index=True)[1]][found]
    return groups


_SURE, _OPEN = 0.9, 0.25
"""Minimum probability of a reference that tells whether places refer to each other, and the share
of such references between places above which they do."""


def weigh_leaving(probability: PairFloats, elsewhere: PairMask) -> float:
    """Return the log-odds of references between places, given those of all references.

    They are below 0 if hardly any sure reference leaves its place.

    >>> sure = np.full(100, 0.99)
    >>> [round(weigh_leaving(sure, np.arange(100) < leaving), 1) for leaving in (0, 5, 50)]
    [-3.3, -1.5, 0.0]
    """
    # Folders or schemas may be databases of their own, or the layers or domains of one.
    sure = probability >= _SURE
    leaving = np.count_nonzero(sure & elsewhere)
    share = (leaving + 1) / (np.count_nonzero(sure) + 1 / _OPEN)
    return min(float(np.log(share / _OPEN)), 0.0)


_Outdone = tuple[Int[np.ndarray, " outdone"], Int[np.ndarray, " outdone"]]


def find_outdone_copies(
    lake: Lake, candidates: ReferenceCandidates, scores: PairFloats, elsewhere: PairMask
) -> _Outdone:
    """Find the pairs of a column and a key of another folder that a copy of the key outdoes."""
    # Lakes hold copies of databases: of each client, year, environment, or layer of a warehouse.
    # All copies of a key fit a column equally well, but it refers to the copy of its own folder.
    # Without one, any of the copies will do, if their values are equal. Copies of the column itself
    # are outdone by any probable key at home (position -1).
    none = np.zeros(0, dtype=np.int64)
    if not elsewhere.any():
        return none, none
    names = _number_copies(lake)
    own = _find_own_copies(candidates, scores, elsewhere, names)
    outdone, by = _outdone_by_home(candidates, scores, ~elsewhere, names)
    _, copies = number_distinct(zip(names.tolist(), lake.sketches, strict=True))
    others = elsewhere & (np.bincount(copies) > 1)[copies][candidates.referenced]
    others[outdone] = others[own] = False
    further, by_further = _outdone_by_first(candidates, scores, others, copies)
    return (
        np.concatenate([own, outdone, further]),
        np.concatenate([np.full(len(own), -1), by, by_further]),
    )


def _find_own_copies(
    candidates: ReferenceCandidates, scores: PairFloats, elsewhere: PairMask, names: ColumnInts
) -> Int[np.ndarray, " own"]:
    """Find the copies of each column that probably refers to a key of its own folder."""
    # A unique column that refers to another, such as that of an extension, fits its copies even
    # better.
    refers = np.zeros(len(names), dtype=bool)
    refers[candidates.referring[~elsewhere & (scores > 0)]] = True
    is_own = names[candidates.referring] == names[candidates.referenced]
    return np.flatnonzero(elsewhere & is_own & refers[candidates.referring])


def _outdone_by_home(
    candidates: ReferenceCandidates, scores: PairFloats, at_home: PairMask, names: ColumnInts
) -> _Outdone:
    """Find pairs that are no better than one at home whose key is a copy."""
    home = np.flatnonzero(at_home)
    groups, best = _best_of_groups(_number_groups(candidates, home, names), scores, home)
    outdone, by = ([np.zeros(0, dtype=np.int64)] for _ in range(2))
    for some in split_pairs(len(scores) if len(groups) else 0):
        wanted = _number_groups(candidates, some, names)
        at, found = find_among(groups, wanted)
        worse = found & (scores[best[at]] >= scores[some]) & ~at_home[some]
        outdone.append(some.start + np.flatnonzero(worse))
        by.append(best[at[worse]])
    return np.concatenate(outdone), np.concatenate(by)


def _outdone_by_first(
    candidates: ReferenceCandidates, scores: PairFloats, chosen: PairMask, copies: ColumnInts
) -> _Outdone:
    """Of the chosen pairs of a column with copies of one key, find all but the best, or first."""
    pairs = np.flatnonzero(chosen)
    group = _number_groups(candidates, pairs, copies)
    groups, best = _best_of_groups(group, scores, pairs)
    by = best[np.searchsorted(groups, group)]
    return pairs[by != pairs], by[by != pairs]


def _number_groups(
    candidates: ReferenceCandidates, pairs: _Chosen | slice, labels: ColumnInts
) -> _Chosen:
    """Give the same number to pairs of one column with keys of one label."""
    keys = labels[candidates.referenced[pairs]]
    return number_pairs(candidates.referring[pairs], keys, len(labels))


def _best_of_groups(
    group: _Chosen, scores: PairFloats, pairs: _Chosen
) -> tuple[Int[np.ndarray, " group"], Int[np.ndarray, " group"]]:
    """Find the best pair of each group."""
    order = np.lexsort((-scores[pairs], group))
    first = order[np.diff(group[order], prepend=-1) > 0]
    return group[first], pairs[first]


def _number_copies(lake: Lake) -> ColumnInts:
    """Give the same number to columns of one name in tables of one name."""
    titles = [title.casefold() for title in lake.titles]
    owners = zip(lake.table_of.tolist(), lake.paths, strict=True)
    return number_distinct((titles[table], path.casefold()) for table, path in owners)[1]


@dataclass(frozen=True)
class Namesakes:
    """For each possible reference, the columns named like the referring one whose key is known."""

    # Number of columns named like the referring column whose key is known.
    known: PairInts
    agreeing: PairInts  # number of these columns that refer to the key of the pair

    @property
    def share(self) -> PairFloats:
        """For each pair, `agreeing` divided by `known`; 0 if `known` is 0."""
        return self.agreeing / np.maximum(self.known, 1)

    def select(self, pairs: _Chosen | PairMask | slice) -> "Namesakes":
        """Return the counts of some pairs."""
        return Namesakes(self.known[pairs], self.agreeing[pairs])


def follow_namesakes(
    lake: Lake,
    candidates: ReferenceCandidates,
    connected: PairMask,
    scores: PairFloats,
    groups: Int[np.ndarray, " table"],
) -> Namesakes:
    """For each pair, count the namesakes of the column that are known to refer to the key."""
    # Namesakes are in one group, in one folder or schema, and in tables that end in one number: all
    # tell copies of a database apart, and each copy refers to its own keys. If both directions of a
    # connected pair are possible, the one with the greater score is the reference.
    column, key = candidates.referring, candidates.referenced
    count = len(lake)
    known = np.flatnonzero(connected & (lake.table_of[column] != lake.table_of[key]))
    if not len(known):
        none = np.zeros(len(column), dtype=np.int64)
        return Namesakes(none, none)  # without numbering the names of the whole lake
    known = known[_is_forward(column[known], key[known], scores[known])]
    copies = zip(groups.tolist(), map(title_number, lake.titles), lake.places, strict=True)
    kinds = _number_names(lake, [*copies])
    known = known[kinds[column[known]] > 0]
    referring, target = kinds[column[known]], key[known]
    of_kind = np.bincount(referring, minlength=count + 1)
    flat, times = np.unique(referring * count + target, return_counts=True)
    wanted = kinds[column] * count + key
    place, found = find_among(flat, wanted)
    agree = np.where(found, times[place], 0) if len(flat) else 0 * wanted
    return Namesakes(of_kind[kinds[column]], agree)


def _is_forward(column: PairInts, key: PairInts, scores: PairFloats) -> PairMask:
    """Mark each pair unless the reverse pair has a higher score."""
    pairs = zip(column.tolist(), key.tolist(), scores.tolist(), strict=True)
    score = {(left, right): value for left, right, value in pairs}
    forward = [value >= score.get((right, left), -np.inf) for (left, right), value in score.items()]
    return np.array(forward, dtype=bool)


def _number_names(lake: Lake, labels: Sequence[object]) -> ColumnInts:
    """Number the names of columns, from 1, for each label of tables; names such as `id` get 0."""
    numbers: dict[object, int] = {}
    kinds = np.zeros(len(lake), dtype=np.int64)
    names = zip(lake.column_words, lake.table_of.tolist(), strict=True)
    for position, (words, table) in enumerate(names):
        if meaningful_words(words):
            kinds[position] = numbers.setdefault((words, labels[table]), len(numbers) + 1)
    return kinds


def weigh_rejected_like(
    lake: Lake, candidates: ReferenceCandidates, priors: CatalogPriors, probability: PairFloats
) -> PairFloats:
    """For each pair, add up the probabilities of rejected references between columns of its names.

    Accepted references between such columns are subtracted.
    """
    # A rejected pair that was no probable reference tells nothing of references: it may be a
    # sibling of columns that rightly refer to their key.
    column, key = candidates.referring, candidates.referenced
    owners = zip(lake.column_words, lake.table_of.tolist(), strict=True)
    # Columns such as `id` have the name of their table.
    _, names = number_distinct(
        (words, () if meaningful_words(words) else lake.title_words[table])
        for words, table in owners
    )
    signs = 1.0 * priors.rejected.holds(column, key) - priors.accepted.holds(column, key)
    decided = np.flatnonzero(signs)
    kinds, kind = np.unique(
        number_pairs(names[column[decided]], names[key[decided]], len(names)), return_inverse=True
    )
    weights = np.bincount(kind, signs[decided] * probability[decided], len(kinds))
    at, found = find_among(kinds, number_pairs(names[column], names[key], len(names)))
    return np.where(found, np.maximum(weights[at], 0.0), 0.0) if len(kinds) else 0.0 * signs


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


def find_common_keys(
    lake: Lake,
    candidates: ReferenceCandidates,
    scores: PairFloats,
    probability: PairFloats,
    elsewhere: PairMask,
) -> PairFloats:
    """Estimate how probably each pair's key is that of all columns with the column's name."""
    # It is 0 where the key fits at most half of the columns, as where two halves refer to two keys.
    common = np.zeros(len(scores))
    if not elsewhere.any():
        return common
    names = _number_names(lake, [*map(title_number, lake.titles)])
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


def _are_in_many(names: ColumnInts, folders: ColumnInts, chosen: ColumnMask) -> ColumnMask:
    """Select those of the chosen columns whose name chosen columns of enough folders have."""
    held = np.unique(np.stack([names[chosen], folders[chosen]]), axis=1)[0]
    enough = np.bincount(held, minlength=int(names.max(initial=0)) + 1) >= _LEAST_FOLDERS
    return chosen & enough[names]
