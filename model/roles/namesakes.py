"""Infer a column's key from the known references of other columns with the same name.

If the catalog or a person connects `orders.created_by` with `users.id`, other columns of this
database that are called `created_by` probably refer to the same key.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.name_clues import column_stems
from datahub_hyperjoin.model.roles.table_clues import title_number
from datahub_hyperjoin.model.signals.stems import Words, meaningful_words


@dataclass(frozen=True)
class Namesakes:
    """For each possible reference, the columns named like the referring one whose key is known."""

    known: Int[np.ndarray, " pair"]
    """Number of columns named like the referring column whose key is known."""

    agreeing: Int[np.ndarray, " pair"]
    """Number of these columns that refer to the key of the pair."""

    @property
    def share(self) -> Float[np.ndarray, " pair"]:
        """For each pair, `agreeing` divided by `known`; 0 if `known` is 0."""
        return self.agreeing / np.maximum(self.known, 1)

    def select(
        self, pairs: Int[np.ndarray, " chosen"] | Bool[np.ndarray, " pair"] | slice
    ) -> "Namesakes":
        """Return the counts of some pairs."""
        return Namesakes(self.known[pairs], self.agreeing[pairs])


def follow_namesakes(
    lake: Lake,
    candidates: ReferenceCandidates,
    connected: Bool[np.ndarray, " pair"],
    scores: Float[np.ndarray, " pair"],
    groups: Int[np.ndarray, " table"],
) -> Namesakes:
    """For each pair, count the namesakes of the column that are known to refer to the key.

    Namesakes are columns of the same name whose tables are in the same group and in the same folder
    or schema, and end in the same number: both tell copies of a database apart, and each copy
    refers to its own keys. Names such as `id`, which all tables share, have no namesakes.

    Args:
        scores: Log-odds of each pair. If both directions of a connected pair are possible, the one
            with the greater score is the reference.

    Returns:
        The namesakes with a known reference, and those of them that refer to the pair's key.
    """
    column, key = candidates.referring, candidates.referenced
    count = len(lake)
    known = np.flatnonzero(connected & (lake.table_of[column] != lake.table_of[key]))
    if not len(known):
        none = np.zeros(len(column), dtype=np.int64)
        return Namesakes(none, none)  # without numbering the names of the whole lake
    known = known[_is_forward(column[known], key[known], scores[known])]
    kinds = _number_names(lake, groups)
    known = known[kinds[column[known]] > 0]
    referring, target = kinds[column[known]], key[known]
    of_kind = np.bincount(referring, minlength=count + 1)
    flat, times = np.unique(referring * count + target, return_counts=True)
    wanted = kinds[column] * count + key
    place = np.searchsorted(flat, wanted).clip(max=max(len(flat) - 1, 0))
    agree = np.where(flat[place] == wanted, times[place], 0) if len(flat) else 0 * wanted
    return Namesakes(of_kind[kinds[column]], agree)


def _is_forward(
    column: Int[np.ndarray, " pair"],
    key: Int[np.ndarray, " pair"],
    scores: Float[np.ndarray, " pair"],
) -> Bool[np.ndarray, " pair"]:
    """Mark each pair unless the reverse pair has a higher score."""
    pairs = zip(column.tolist(), key.tolist(), scores.tolist(), strict=True)
    score = {(left, right): value for left, right, value in pairs}
    forward = [value >= score.get((right, left), -np.inf) for (left, right), value in score.items()]
    return np.array(forward, dtype=bool)


def _number_names(lake: Lake, groups: Int[np.ndarray, " table"]) -> Int[np.ndarray, " column"]:
    """Give all namesakes the same positive number; generic names such as `id` get 0."""
    titled = zip(lake.titles, lake.places, strict=True)
    copies = [(title_number(title), place) for title, place in titled]
    numbers: dict[tuple[Words, int, tuple[str, str]], int] = {}
    kinds = np.zeros(len(lake), dtype=np.int64)
    names = zip(column_stems(lake), lake.table_of.tolist(), strict=True)
    for position, (words, table) in enumerate(names):
        if meaningful_words(words):
            name = words, int(groups[table]), copies[table]
            kinds[position] = numbers.setdefault(name, len(numbers) + 1)
    return kinds
