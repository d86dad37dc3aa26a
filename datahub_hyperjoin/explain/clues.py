"""Explain a reference: the clues that decided, and the keys that it was chosen from."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS, normalise
from datahub_hyperjoin.model.roles.reference_trees import DescribedCandidates, correct_by_trees
from datahub_hyperjoin.model.signals.pairs import PairFloats

CLUES = {
    "containment": "share of its values in the key",
    "rarity": "few keys hold its values",
    "words": "words in common",
    "column_in_key": "its name in those of the key and its table",
    "key_in_column": "the name of the key or its table in its own",
    "table_in_column": "the name of the key's table in its own",
    "names_table": "named as the key's table",
    "continues_table": "its table's name and its own name the key's table",
    "actor": "named after people by what they do",
    "same_name": "same name",
    "other_word": "another word for identifiers",
    "unmarked": "looks like a measure",
    "measures": "named as a count, measure or position",
    "labels": "named as a label",
    "leading_column": "looks most like the key of its table",
    "own_key": "named as the key of its table",
    "uniqueness": "repeats few values",
    "density": "numbers without gaps",
    "coverage": "share of the key's numbers that it holds",
    "leading_key": "the key looks most like that of its table",
    "other_key": "another column looks more like the table's key",
    "other_table": "named after a third table",
    "calendar": "days of a calendar",
    "kind_of_day": "days written alike",
    "style": "tables named in different styles",
    "own_table": "key of its own table",
    "parent_in_table": "named as a parent",
    "elsewhere": "tables in different folders or schemas",
    "same_number": "tables' names end in the same number",
    "same_prefix": "tables' names begin with the same word",
    "vocabulary": "tables have columns of the same names",
}
"""What each clue says, in words about the referring column."""
_AROUND, _TREES = "other references, the catalog and people", "keys of other databases (trees)"
_SHOWN = 3
"""Number of clues, and of rivals, that are named."""
_NEGLIGIBLE = 0.005
"""Minimum probability of a rival that is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClueExplanation:
    """A clue for or against a reference."""

    name: str

    log_odds: float
    """What the clue adds to the log-odds of the reference."""


@dataclass(slots=True)
class WatchedTrees:
    """The trees of references, with what they last saw and said."""

    seen: DescribedCandidates | None = None
    corrections: PairFloats = field(default_factory=lambda: np.zeros(0))

    def __call__(self, candidates: DescribedCandidates) -> PairFloats:
        """Return the corrections of candidates, and keep both."""
        self.seen, self.corrections = candidates, correct_by_trees(candidates)
        return self.corrections

    def explain(self, column: int, key: int) -> tuple[ClueExplanation, ...]:
        """List the clues that weigh most, strongest first; none for pairs that were not seen."""
        if self.seen is None:
            return ()
        pairs = self.seen.pairs
        at = np.flatnonzero((pairs.referring == column) & (pairs.referenced == key))
        if not len(at):
            return ()
        described = dict(zip(self.seen.features, self.seen.rows[at[0]].tolist(), strict=True))
        weights = vars(DEFAULT_WEIGHTS)
        clues = {words: weights[name] * described[name] for name, words in CLUES.items()}
        score = float(self.seen.scores[at[0]])
        clues[_AROUND] = score - DEFAULT_WEIGHTS.prior - sum(clues.values())
        clues[_TREES] = float(self.corrections[at[0]])
        strongest = sorted(clues.items(), key=lambda clue: -abs(clue[1]))[:_SHOWN]
        return tuple(ClueExplanation(name=name, log_odds=value) for name, value in strongest)

    def rivals(self, column: int, key: int) -> Iterator[tuple[int, float]]:
        """Yield the best other keys of a column with their probabilities, the best first."""
        if self.seen is None:
            return
        pairs = self.seen.pairs
        own = np.flatnonzero(pairs.referring == column)
        scores = self.seen.scores[own] + self.corrections[own]
        likely = normalise(np.zeros(len(own), dtype=np.int64), scores)
        for at in np.argsort(-likely, kind="stable")[: _SHOWN + 1].tolist():
            other = int(pairs.referenced[own[at]])
            if other != key and likely[at] >= _NEGLIGIBLE:
                yield other, float(likely[at])
