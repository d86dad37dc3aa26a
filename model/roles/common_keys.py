"""Find the key to which columns of one name refer from many folders or schemas.

If tables of many folders have a `customer_id`, and their own folder has no such key, they probably
all refer to the same `customers`. Each column alone may fit several keys of that name. Together,
the columns hold more of the key's values, so their scores are added up.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.name_clues import column_stems
from datahub_hyperjoin.model.roles.table_clues import title_number
from datahub_hyperjoin.model.signals.pairs import number_pairs
from datahub_hyperjoin.model.signals.stems import Words, meaningful_words

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
