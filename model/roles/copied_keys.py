"""Find keys that compete with the same key of the column's own folder.

Lakes hold copies of databases: of a test, of each client, of each year, or of each layer of a
warehouse. All copies of a key hold the same small numbers, but a column refers to that of its own.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.pair_scores import split_pairs
from datahub_hyperjoin.model.signals.pairs import number_pairs


def find_foreign_copies(
    lake: Lake,
    candidates: ReferenceCandidates,
    scores: Float[np.ndarray, " pair"],
    elsewhere: Bool[np.ndarray, " pair"],
) -> Bool[np.ndarray, " pair"]:
    """Mark the pairs with a key of another folder of which the column's own folder has a copy.

    Copies have the same names of table and column. A copy at home counts only if it fits the column
    at least as well.

    Args:
        lake: The columns.
        candidates: The possible references.
        scores: Log-odds of each pair.
        elsewhere: The pairs whose tables are in different folders or schemas.
    """
    is_copy = np.zeros(len(scores), dtype=bool)
    if not elsewhere.any():
        return is_copy
    names = _number_names(lake)
    home = np.flatnonzero(~elsewhere)
    at_home, of_pair = np.unique(
        number_pairs(candidates.referring[home], names[candidates.referenced[home]], len(lake)),
        return_inverse=True,
    )
    if not len(at_home):
        return is_copy
    best = np.full(len(at_home), -np.inf)
    np.maximum.at(best, of_pair, scores[home])
    for some in split_pairs(len(scores)):
        part = candidates.part(some)
        wanted = number_pairs(part.referring, names[part.referenced], len(lake))
        at = np.minimum(np.searchsorted(at_home, wanted), len(at_home) - 1)
        has_home = elsewhere[some] & (at_home[at] == wanted)
        is_copy[some] = has_home & (best[at] >= scores[some])
    return is_copy


def _number_names(lake: Lake) -> Int[np.ndarray, " column"]:
    """Give columns with the same name in tables of the same name the same number."""
    numbers: dict[tuple[str, str], int] = {}
    titles = [title.casefold() for title in lake.titles]
    columns = zip(lake.ids, lake.table_of.tolist(), strict=True)
    return np.array(
        [
            numbers.setdefault((titles[table], column.path.casefold()), len(numbers))
            for column, table in columns
        ],
        dtype=np.int64,
    )
