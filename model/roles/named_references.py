"""Find references between columns without comparing values.

Names, types, counts and lengths of values are the only clues. The clues of names and tables have
the same weights as where values are compared. Evidence from values is missing, so the prior
probability of a reference is lower, and further clues count.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int, Shaped

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE, ColumnIndex
from datahub_hyperjoin.model.roles.candidates import REFERRING_TYPES, ReferenceCandidates
from datahub_hyperjoin.model.roles.header_references import (
    HeaderCandidates,
    HeaderDescription,
    HeaderNames,
    correct_by_header_trees,
    keys_by_table,
)
from datahub_hyperjoin.model.roles.name_clues import (
    LakeNames,
    abbreviates_title,
    names_parent,
    spell_out_markers,
)
from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS
from datahub_hyperjoin.model.roles.reference_trees import Correction, DescribedCandidates
from datahub_hyperjoin.model.roles.references import References, weigh_candidates
from datahub_hyperjoin.model.signals.cells import StoredVectors
from datahub_hyperjoin.model.signals.names import NameSimilarity, Words
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnMask,
    KeyInts,
    PairFloats,
    PairInts,
    PairMask,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.tables import DataType

_TOLERANCE = 1e-9
"""Distances between lengths count as equal if they differ by less than this."""


def fit_in_lengths(lake: Lake, column: PairInts, key: PairInts) -> PairMask:
    """Mark the pairs in which the lengths of the column's values fit the key."""
    shortest, longest = _lengths(lake).T
    fits = (shortest[column] >= shortest[key]) & (longest[column] <= longest[key])
    known = lake.mask(lambda profile: profile.rows > profile.nulls)
    return fits | ~(known[column] & known[key])


def measure_length_chance(
    lake: Lake, is_key: ColumnMask, column: PairInts, key: PairInts
) -> PairFloats:
    """Compute how likely a random key is to fit a column's lengths no worse than a given key."""
    # Few keys hold codes of exactly three characters, so a column of such codes hardly ever meets
    # one by chance. Where lengths are not known or types differ, it is 1 / e, the geometric mean of
    # such shares by chance.
    known = lake.mask(lambda profile: profile.rows > profile.nulls)
    _, kinds = np.unique([profile.type.value for profile in lake.profiles], return_inverse=True)
    ends = np.log1p(_lengths(lake).astype(np.float64))
    chance = np.full(len(column), np.exp(-1.0))
    compared = known[column] & known[key] & (kinds[column] == kinds[key])
    for kind in np.unique(kinds):
        pairs = np.flatnonzero(compared & (kinds[column] == kind))
        of_keys, counts = np.unique(
            ends[is_key & known & (kinds == kind)], axis=0, return_counts=True
        )
        ranges, which = np.unique(ends[column[pairs]], axis=0, return_inverse=True)
        distance = np.abs(ends[column[pairs]] - ends[key[pairs]]).sum(axis=1)
        order = np.argsort(which.ravel(), kind="stable")
        starts = np.searchsorted(which.ravel()[order], np.arange(len(ranges) + 1))
        # Columns of equal lengths have equal distances from all keys.
        for range_, (start, end) in zip(ranges, itertools.pairwise(starts.tolist()), strict=True):
            chosen = order[start:end]
            distances = np.abs(of_keys - range_).sum(axis=1)
            nearest = np.argsort(distances)
            closer = np.searchsorted(distances[nearest], distance[chosen] + _TOLERANCE)
            chance[pairs[chosen]] = counts[nearest].cumsum()[closer - 1] / counts.sum()
    return chance


def _lengths(lake: Lake) -> Int[np.ndarray, "column 2"]:
    """For each column, return the lengths of the shortest and of the longest value."""
    lengths = [(each.lengths.shortest, each.lengths.longest) for each in lake.profiles]
    return np.array(lengths, dtype=np.int64).reshape(-1, 2)


_MIN_UNIQUENESS = 0.95
"""Minimum uniqueness of a referenced column whose rows were counted."""
_ALIKE = 30
"""Maximum number of keys with similar names that are considered for each column."""
_NAMESAKES = 50
"""Maximum number of columns with the same name that are considered; if more have it, none are."""
_SHORTEST = 2
"""Minimum number of letters of a table's name at the end of a column's name."""

_Shares = dict[tuple[int, int], float]
"""A share in [0, 1] for pairs of a column and a key."""


@dataclass(frozen=True)
class NamedCandidates:
    """Possible references, with clues from the names of their columns and tables."""

    # The pairs of a column and a key, with a containment of 0, since no values were compared.
    candidates: ReferenceCandidates
    # Uniqueness of each column: counted, or guessed from the names.
    uniqueness: ColumnFloats
    clues: Mapping[str, np.ndarray]  # the clues in `_FURTHER`
    is_marked: ColumnMask  # columns whose names have a word such as `id`
    is_open: ColumnMask  # columns of which nothing but the name and the type is known
    header: HeaderNames


def _guess_keys(names: LakeNames, may: ColumnMask) -> ColumnMask:
    """Guess from names which columns are keys."""
    # A key has the name of its table; if no column has it, the likeliest one is a key, unless it is
    # called like another table. Where names of a table's columns have words such as `id`, a column
    # that has the table's name without such a word describes the row, as `states.state` does.
    lake, count = names.lake, len(names.lake)
    own = np.fromiter((names.is_own(column) for column in range(count)), dtype=bool, count=count)
    own &= may
    own &= names.is_marked | ~names.has_marked[lake.table_of]
    has_own = np.zeros(len(lake.titles), dtype=bool)
    has_own[lake.table_of[own]] = True
    # The likeliest ends like an identifier, best with the start of the title, as `uid` in `users`.
    best: dict[int, tuple[bool, bool, int, int]] = {}
    for column in np.flatnonzero(may & ~has_own[lake.table_of]).tolist():
        if names.is_foreign(column):
            continue
        table = int(lake.table_of[column])
        is_start = abbreviates_title(names.columns[column], names.tables[table])
        likeness = (is_start, bool(names.ends_marked[column]), -int(lake.standing[column]), column)
        best[table] = max(best.get(table, likeness), likeness)
    own[[column for *_, column in best.values()]] = True
    return own


def _by_table_name(names: LakeNames, keys_of: Mapping[int, Sequence[int]]) -> _Shares:
    """Pair each column with the keys of the tables that its name mentions."""
    # The name ends with the other table's, or that of its own table, followed by its name, is it.
    shares: _Shares = {}
    for column, words in enumerate(names.meanings):
        own, length = int(names.lake.table_of[column]), sum(map(len, words))
        for start in range(len(words)):
            ending = "".join(words[start:])
            tables = names.tables_named(ending, own) if len(ending) >= _SHORTEST else ()
            for key in (key for table in tables for key in keys_of.get(table, ())):
                shares[column, key] = max(shares.get((column, key), 0.0), len(ending) / length)
        for spelling in names.spellings[own] if words else ():
            for table in names.tables_named(spelling + "".join(words), own):
                for key in keys_of.get(table, ()):
                    shares.setdefault((column, key), 0.0)
    return shares


def _by_own_name(names: LakeNames, keys_of: Mapping[int, Sequence[int]]) -> _Shares:
    """Pair each column whose name ends with that of its own table with the table's keys."""
    # A role precedes the table's name, as in `reply_to_comment_id` of `comments`.
    shares: _Shares = {}
    for column in np.flatnonzero(names.is_marked).tolist():
        words, own = names.meanings[column], int(names.lake.table_of[column])
        endings = ("".join(words[start:]) for start in range(1, len(words)))
        if not names.spellings[own].isdisjoint(endings):
            shares |= {(column, key): 1.0 for key in keys_of.get(own, ()) if key != column}
    return shares


def _by_actors(
    names: LakeNames, keys_of: Mapping[int, Sequence[int]], named: Iterable[tuple[int, int]]
) -> _Shares:
    """Pair each column named after people by what they do with the keys of the people's tables."""
    keys = [key for table in names.people for key in keys_of.get(table, ())]
    settled = {column for column, _ in named}
    acting = ((column, names.actor(column)) for column in range(len(names.lake)))
    return {
        (column, key): share
        for column, share in acting
        if share and column not in settled
        for key in keys
        if key != column
    }


def _by_name(names: LakeNames, columns: Iterable[int], others: Iterable[int]) -> _Shares:
    """Pair columns that have the same name and belong to different tables."""
    named: dict[Words, list[int]] = defaultdict(list)
    for other in others:
        named[names.columns[other]].append(other)
    table_of = names.lake.table_of
    return {
        (column, other): 1.0
        for column in columns
        if names.meanings[column] and len(named.get(names.columns[column], ())) <= _NAMESAKES
        for other in named.get(names.columns[column], ())
        if table_of[column] != table_of[other]
    }


def _by_parents(names: LakeNames, keys_of: Mapping[int, Sequence[int]]) -> _Shares:
    """Pair each column that names a parent row, such as `manager_id`, with its possible keys."""
    # Those of its own table, whose rows may have parents in it, and of others with such a column.
    parents = np.flatnonzero(names_parent(names.columns)).tolist()
    table_of = names.lake.table_of
    shares = {
        (column, key): 1.0
        for column, other in _by_name(names, parents, parents)
        for key in keys_of.get(int(table_of[other]), ())
    }
    own = {
        (column, key): 1.0 for column in parents for key in keys_of.get(int(table_of[column]), ())
    }
    return {pair: share for pair, share in (shares | own).items() if pair[0] != pair[1]}


def _by_similarity(names: LakeNames, keys: KeyInts) -> Iterator[tuple[int, int]]:
    """Pair each column with the keys that have the most similar names."""
    lake = names.lake
    if not len(keys):
        return
    titled = (" ".join(names.tables[int(lake.table_of[key])]) for key in keys)
    own = [" ".join(words) for words in names.meanings]
    full = [f"{title} {own[int(key)]}" for title, key in zip(titled, keys, strict=True)]
    vectors = NameSimilarity([*own, *full]).vectors()
    index = ColumnIndex(StoredVectors.of(vectors[len(lake) :]), lake.table_of[keys])
    near = index.search(vectors[: len(lake)], lake.table_of, _ALIKE)
    for column, position in zip(*np.nonzero(near != NO_CANDIDATE), strict=True):
        yield int(column), int(keys[near[column, position]])


def find_named_candidates(lake: Lake, priors: CatalogPriors) -> NamedCandidates:
    """Without reading values, find the keys that each column may refer to."""
    names = LakeNames(lake)
    may = lake.mask(lambda profile: profile.type in REFERRING_TYPES)
    guessed = _guess_keys(names, may)
    is_key = np.where(priors.counted, may & (priors.uniqueness >= _MIN_UNIQUENESS), guessed)
    is_key[priors.declared_unique] = True
    header, is_open = HeaderNames(names, guessed), may & ~priors.counted
    shares, pairs = _suggest_pairs(header, is_key, is_open)
    pairs.update(zip(priors.connected.left.tolist(), priors.connected.right.tolist(), strict=True))
    left, right = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    may_be_key = is_key.copy()
    may_be_key[right[is_open[right]]] = True
    chosen = may[left] & may_be_key[right] & _may_hold(lake, priors, left, right)
    left, right = left[chosen], right[chosen]
    clues = _measure_clues(header, shares, left, right)
    clues["lengths"] = -np.log(measure_length_chance(lake, is_key, left, right)) - 1
    if is_open.any():
        of_header = is_open[left] & is_open[right]
        clues["home"] = np.where(of_header, np.minimum(header.home[right], 2.0) - 0.5, 0.0)
        clues["title_begins"] = np.where(of_header, header.share_of_title(left, right), 0.0)
    return NamedCandidates(
        ReferenceCandidates(
            left, right, np.zeros(len(left)), may_be_key, chance=np.ones(len(left))
        ),
        uniqueness=np.where(priors.counted, priors.uniqueness, np.where(guessed, 1.0, 0.5)),
        clues=clues,
        is_marked=names.is_marked,
        is_open=is_open,
        header=header,
    )


def _suggest_pairs(
    header: HeaderNames, is_key: ColumnMask, is_open: ColumnMask
) -> tuple[dict[str, _Shares], set[tuple[int, int]]]:
    """Return the shares by which names suggest pairs of a column and a key, and all pairs."""
    names, lake = header.names, header.names.lake
    keys = np.flatnonzero(is_key)
    further = HeaderCandidates(header, is_key, is_open) if is_open.any() else None
    keys_of = further.keys_of if further else keys_by_table(lake, is_key)
    endings, own_endings = _by_table_name(names, keys_of), _by_own_name(names, keys_of)
    settled = [*endings, *own_endings]
    shares = {
        "share_at_end": endings,
        "own_table_at_end": own_endings,
        "parent": _by_parents(names, keys_of),
        "actor": _by_actors(names, keys_by_table(lake, is_key), settled),
    }
    pairs = {*_by_name(names, range(len(lake)), keys.tolist()), *_by_similarity(names, keys)}
    if further:
        shares |= further.clues(shares["actor"], settled)
        pairs.update(further.pairs())
    pairs.update(itertools.chain.from_iterable(shares.values()))
    return shares, pairs


def _measure_clues(
    header: HeaderNames, shares: Mapping[str, _Shares], left: PairInts, right: PairInts
) -> dict[str, Shaped[np.ndarray, " pair"]]:
    names = header.names
    marked, table_of = names.is_marked, names.lake.table_of
    listed = list(zip(left.tolist(), right.tolist(), strict=True))
    clues = {
        clue: np.array([found.get(pair, 0.0) for pair in listed]) for clue, found in shares.items()
    }
    is_unlike = ~marked[left] & marked[right] & names.has_marked[table_of[left]]
    return {
        **clues,
        "table_at_end": clues["share_at_end"] > 0,
        "key_name": np.array([names.ends_with_key_name(*pair) for pair in listed], dtype=float),
        "half_marked": marked[left] != marked[right],
        "unlike_others": is_unlike & (clues["actor"] == 0),
    }


def _may_hold(lake: Lake, priors: CatalogPriors, left: PairInts, right: PairInts) -> PairMask:
    """For each pair, return whether the right column can contain the left column's values."""
    read = lake.mask(lambda profile: profile.rows > 0)
    distinct = lake.distinct
    kinds = np.array([profile.type.value for profile in lake.profiles], dtype=object)
    text = kinds == DataType.TEXT.value
    # A column that was not read may contain numbers, although it is declared as text.
    open_type = (text & ~read)[left] | (text & ~read)[right]
    same_type = (kinds[left] == kinds[right]) | open_type
    enough = (distinct[left] <= distinct[right]) | ~(read[left] & read[right])
    enough &= fit_in_lengths(lake, left, right)
    stated = priors.connected.holds(left, right)
    return (same_type & enough) | stated


_WEIGHTS = replace(
    DEFAULT_WEIGHTS,
    prior=-6.0,
    containment=0.0,
    rarity=0.0,
    words=0.0,
    density=0.0,
    coverage=0.0,
    actor=0.0,
    other_table=0.0,
    same_prefix=2.0,
    corrected=16,
)
"""Weights of the clues that need no values. The prior is lower than in `DEFAULT_WEIGHTS`, which
apply only to pairs that share a value, a small selection of all pairs. A common prefix of two
tables weighs more, because no value tells the tables of several databases apart. More keys are
corrected, since many have similar names."""
_FURTHER = {
    # If the column's name ends with the name of the key's table, as in `home_airport_id`, and
    # what share of the name this ending takes up.
    "table_at_end": 1.5,
    "share_at_end": 1.5,
    # If this ending is the name of the table's key, as `cust` in `ord_cust_no`.
    "key_name": 2.0,
    # If the column's name denotes a parent row, as `manager_id` does, and the key may identify
    # that row.
    "parent": 3.0,
    # If the column's name ends with the name of its own table, as `merged_story_id` does in
    # `stories`, and the key is in this table.
    "own_table_at_end": 6.5,
    # How surely the column is named after people by what they do, as `created_by` and `author_id`
    # are, if the key is in the table of the people. Less for nouns.
    "actor": 7.0,
    # If only one of the names has a word such as `id`: the other column may hold names.
    "half_marked": -1.0,
    # If the key's name has such a word, and other columns of the table have one, but names no
    # people.
    "unlike_others": -3.0,
    # The evidence from lengths: the negative logarithm of the share of all keys whose value
    # lengths fit the column at least as well as this pair's key, minus 1.
    "lengths": 0.5,
    # If the key is that of the column's own table, the column's name ends with the key's or with
    # the key's after its title, and the column is named after the people of its folder, as before.
    "own_key": 5.0,
    "qualified": 2.0,
    "people": 7.0,
    # How the key's name goes with its title, and the share of the column's title that the key's
    # makes up, if it begins with it.
    "home": 1.5,
    "title_begins": 2.0,
}
"""Log-odds of further clues; a clue that is a share is multiplied with them."""
_MIN_UNMARKED = 0.1
"""Minimum probability of a reference from a column whose name has no word such as `id`."""


def find_named_references(
    lake: Lake,
    priors: CatalogPriors,
    correct: Correction = correct_by_header_trees,
) -> References:
    """Compute the probability of each possible reference without comparing any values.

    `correct` returns what to add to the scores of columns of which only names are known.
    """
    lake = spell_out_markers(lake)
    named = find_named_candidates(lake, priors)
    further = sum(
        weight * named.clues[clue] for clue, weight in _FURTHER.items() if clue in named.clues
    )
    estimated = replace(priors, uniqueness=named.uniqueness)
    description = HeaderDescription(named.header, named.candidates, named.clues)

    def correct_open(candidates: DescribedCandidates) -> PairFloats:
        described = description.describe(candidates)
        ends = candidates.pairs.referring, candidates.pairs.referenced
        is_open = named.is_open[ends[0]] & named.is_open[ends[1]]
        return np.where(is_open, correct(described), 0.0)

    found = weigh_candidates(
        lake,
        estimated,
        named.candidates,
        _WEIGHTS,
        further,
        correct=correct_open if named.is_open.any() else None,
    )
    kept = named.is_marked[found.referring] | (found.probability >= _MIN_UNMARKED)
    return replace(found.select(kept), probability=found.probability[kept].astype(np.float64))
