"""Find copies of keys that need not compete for the columns that refer to the key.

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


def find_outdone_copies(
    lake: Lake, candidates: ReferenceCandidates, scores: _Scores, elsewhere: _Mask
) -> _Mask:
    """Mark the pairs of a column and a key of another folder that a copy of the key outdoes.

    Copies have the same names of table and column. A copy in the column's own folder outdoes others
    if it fits the column at least as well; of copies with equal values elsewhere, the best remains.

    Args:
        lake: The columns.
        candidates: The possible references.
        scores: Log-odds of each pair.
        elsewhere: The pairs whose tables are in different folders or schemas.
    """
    outdone = np.zeros(len(scores), dtype=bool)
    if not elsewhere.any():
        return outdone
    titles = [title.casefold() for title in lake.titles]
    columns = zip(lake.profiles, lake.table_of.tolist(), strict=True)
    named = [(titles[table], profile.id.path.casefold(), profile) for profile, table in columns]
    names = _number((title, path) for title, path, _ in named)
    _mark_outdone_by_home(outdone, candidates, scores, elsewhere, names)
    copies = _number((title, path, profile.sketch) for title, path, profile in named)
    _mark_outdone_elsewhere(outdone, candidates, scores, elsewhere, copies)
    return outdone


def _mark_outdone_by_home(
    outdone: _Mask,
    candidates: ReferenceCandidates,
    scores: _Scores,
    elsewhere: _Mask,
    names: _Numbers,
) -> None:
    home = np.flatnonzero(~elsewhere)
    at_home, of_pair = np.unique(
        number_pairs(candidates.referring[home], names[candidates.referenced[home]], len(names)),
        return_inverse=True,
    )
    if not len(at_home):
        return
    best = np.full(len(at_home), -np.inf)
    np.maximum.at(best, of_pair, scores[home])
    for some in split_pairs(len(scores)):
        part = candidates.part(some)
        wanted = number_pairs(part.referring, names[part.referenced], len(names))
        at = np.minimum(np.searchsorted(at_home, wanted), len(at_home) - 1)
        outdone[some] = (at_home[at] == wanted) & (best[at] >= scores[some]) & elsewhere[some]


def _mark_outdone_elsewhere(
    outdone: _Mask,
    candidates: ReferenceCandidates,
    scores: _Scores,
    elsewhere: _Mask,
    copies: _Numbers,
) -> None:
    has_copies = np.bincount(copies)[copies] > 1
    chosen = np.flatnonzero(elsewhere & ~outdone & has_copies[candidates.referenced])
    group = number_pairs(
        candidates.referring[chosen], copies[candidates.referenced[chosen]], len(copies)
    )
    # Of equally good copies, the first.
    order = np.lexsort((-scores[chosen], group))
    repeats = np.diff(group[order], prepend=-1) == 0
    outdone[chosen[order[repeats]]] = True


def _number(labels: Iterable[object]) -> _Numbers:
    """Give equal labels the same number."""
    numbers: dict[object, int] = {}
    listed = [numbers.setdefault(label, len(numbers)) for label in labels]
    return np.array(listed, dtype=np.int64)
