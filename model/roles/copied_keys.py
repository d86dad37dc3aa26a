"""Let one copy of a key stand for all copies of it.

Lakes hold copies of databases: of each client, year, environment, or layer of a warehouse. All
copies of a key fit a column equally well, but it refers to the copy of its own folder. Without one,
any of the copies will do, if their values are equal.
"""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.pair_scores import split_pairs
from datahub_hyperjoin.model.signals.pairs import number_pairs

_Scores = Float[np.ndarray, " pair"]
_Mask = Bool[np.ndarray, " pair"]
_Numbers = Int[np.ndarray, " column"]
_Outdone = tuple[Int[np.ndarray, " outdone"], Int[np.ndarray, " outdone"]]


def find_outdone_copies(
    lake: Lake, candidates: ReferenceCandidates, scores: _Scores, elsewhere: _Mask
) -> _Outdone:
    """Find the pairs of a column and a key of another folder that a copy of the key outdoes.

    Copies have the same name, in tables of the same name, whose other columns may differ. A copy in
    the column's own folder outdoes others if it fits the column at least as well; of copies with
    equal values elsewhere, the best remains. The column's own copies are outdone by any probable
    key at home.

    Args:
        elsewhere: The pairs whose tables are in different folders or schemas.

    Returns:
        The positions of these pairs, and for each the position of the copy that outdoes it; -1 for
        the column's own copies.
    """
    none = np.zeros(0, dtype=np.int64)
    if not elsewhere.any():
        return none, none
    names = _number_copies(lake)
    own = _find_own_copies(candidates, scores, elsewhere, names)
    outdone, by = _outdone_by_home(candidates, scores, ~elsewhere, names)
    copies = _number(zip(names.tolist(), (each.sketch for each in lake.profiles), strict=True))
    others = elsewhere & (np.bincount(copies) > 1)[copies][candidates.referenced]
    others[outdone] = others[own] = False
    further, by_further = _outdone_by_first(candidates, scores, others, copies)
    return (
        np.concatenate([own, outdone, further]),
        np.concatenate([np.full(len(own), -1), by, by_further]),
    )


def _find_own_copies(
    candidates: ReferenceCandidates, scores: _Scores, elsewhere: _Mask, names: _Numbers
) -> Int[np.ndarray, " own"]:
    """Find the copies of each column that probably refers to a key of its own folder.

    A unique column that refers to another, such as that of an extension, fits its copies even
    better.
    """
    refers = np.zeros(len(names), dtype=bool)
    refers[candidates.referring[~elsewhere & (scores > 0)]] = True
    is_own = names[candidates.referring] == names[candidates.referenced]
    return np.flatnonzero(elsewhere & is_own & refers[candidates.referring])


def _outdone_by_home(
    candidates: ReferenceCandidates, scores: _Scores, at_home: _Mask, names: _Numbers
) -> _Outdone:
    """Find pairs that are no better than one at home whose key is a copy."""
    home = np.flatnonzero(at_home)
    groups, best = _best_of_groups(_number_groups(candidates, home, names), scores, home)
    outdone, by = ([np.zeros(0, dtype=np.int64)] for _ in range(2))
    for some in split_pairs(len(scores) if len(groups) else 0):
        wanted = _number_groups(candidates, some, names)
        at = np.minimum(np.searchsorted(groups, wanted), len(groups) - 1)
        worse = (groups[at] == wanted) & (scores[best[at]] >= scores[some]) & ~at_home[some]
        outdone.append(some.start + np.flatnonzero(worse))
        by.append(best[at[worse]])
    return np.concatenate(outdone), np.concatenate(by)


def _outdone_by_first(
    candidates: ReferenceCandidates, scores: _Scores, chosen: _Mask, copies: _Numbers
) -> _Outdone:
    """Of the chosen pairs of a column with copies of one key, find all but the best, or first."""
    pairs = np.flatnonzero(chosen)
    group = _number_groups(candidates, pairs, copies)
    groups, best = _best_of_groups(group, scores, pairs)
    by = best[np.searchsorted(groups, group)]
    return pairs[by != pairs], by[by != pairs]


def _number_groups(
    candidates: ReferenceCandidates, pairs: Int[np.ndarray, " chosen"] | slice, labels: _Numbers
) -> Int[np.ndarray, " chosen"]:
    """Give the same number to pairs of one column with keys of one label."""
    keys = labels[candidates.referenced[pairs]]
    return number_pairs(candidates.referring[pairs], keys, len(labels))


def _best_of_groups(
    group: Int[np.ndarray, " chosen"], scores: _Scores, pairs: Int[np.ndarray, " chosen"]
) -> tuple[Int[np.ndarray, " group"], Int[np.ndarray, " group"]]:
    """Find the best pair of each group.

    Returns:
        The number of each group, ascending, and its best pair; of equally good ones, the first.
    """
    order = np.lexsort((-scores[pairs], group))
    first = order[np.diff(group[order], prepend=-1) > 0]
    return group[first], pairs[first]


def _number_copies(lake: Lake) -> _Numbers:
    """Give the same number to columns of one name in tables of one name."""
    titles = [title.casefold() for title in lake.titles]
    paths = (profile.id.path.casefold() for profile in lake.profiles)
    return _number(zip((titles[table] for table in lake.table_of.tolist()), paths, strict=True))


def _number(labels: Iterable[object]) -> _Numbers:
    """Give equal labels the same number."""
    numbers: dict[object, int] = {}
    listed = [numbers.setdefault(label, len(numbers)) for label in labels]
    return np.array(listed, dtype=np.int64)
