"""Compare columns by the entities that their values stand for, such as countries.

A column of country codes and a column of country names share no value, but their rows match. If
nearly all values of a column are codes or names of one entity kind, the column represents a set of
entities, and two such columns are compared by these sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from datahub_hyperjoin.model.reference.lexicon import RecognisedColumn, load_lexicon
from datahub_hyperjoin.model.signals.pairs import PairValues

_NO_FORM = -1
_SHARED_SCALE = 3.0
"""Number of shared entities at which overlap counts for about two thirds."""


@dataclass(frozen=True)
class EntityOverlap:
    """The overlap of columns, measured by the entities that their values stand for.

    The form of each column's values, such as two-letter codes, is included.
    """

    form: Int[np.ndarray, " column"]
    """The form of each column's values, such as two-letter country codes; -1 if not recognised."""

    pairs: PairValues
    """Pairs that share an entity, with their overlap in (0.5, 1].

    A half is for the common kind: samples of large tables need not share entities. The other half
    is multiplied by the share of the smaller column's entities that the larger one holds, less if
    they share few.
    """

    @classmethod
    def empty(cls, columns: int) -> "EntityOverlap":
        """Return an instance for columns without recognised entities."""
        return cls(np.full(columns, _NO_FORM), PairValues.from_mapping(columns, {}))

    @classmethod
    def from_sketches(
        cls, sketches: Sequence[bytes], table_of: Int[np.ndarray, " column"]
    ) -> "EntityOverlap":
        """Recognise the entities in columns, and measure the overlap of each pair of columns.

        Overlap is underestimated for a column whose sketch does not hold all of its values.

        Args:
            sketches: The sketch of each column as in its profile; empty to skip the column.
            table_of: The table of each column.
        """
        columns = len(sketches)
        recognised = _recognise(sketches)
        if not recognised:
            return cls.empty(columns)
        form, size = np.full(columns, _NO_FORM), np.ones(columns)
        for column, content in recognised.items():
            form[column], size[column] = content.form, content.size
        shared = _count_shared(recognised, columns)
        left, right = shared.row.astype(np.int64), shared.col.astype(np.int64)
        apart = table_of[left] != table_of[right]
        # `PairValues` looks pairs up by binary search and needs them sorted.
        order = np.flatnonzero(apart)[np.lexsort((right[apart], left[apart]))]
        left, right, count = left[order], right[order], shared.data[order]
        share: Float[np.ndarray, " pair"] = count / np.minimum(size[left], size[right])
        overlap = (1 + share * (1 - np.exp(-count / _SHARED_SCALE))) / 2
        return cls(form, PairValues(columns, left, right, overlap))

    def kind(self, left: int, right: int) -> str | None:
        """Return the entity kind that two columns share, or None.

        Args:
            left: A column index.
            right: Another column index.

        Returns:
            The name of the kind in the lexicon; None if a column is not recognised, or if the
            columns hold entities of different kinds.
        """
        forms = self.form[[left, right]]
        if _NO_FORM in forms:
            return None
        lexicon = load_lexicon()
        left_kind, right_kind = lexicon.kind_of[forms]
        return lexicon.kinds[left_kind] if left_kind == right_kind else None

    def same_form(
        self, left: Int[np.ndarray, "*shape"], right: Int[np.ndarray, "*shape"]
    ) -> Bool[np.ndarray, "*shape"]:
        """For each pair, return whether both columns have the same form, such as two-letter codes.

        Args:
            left: Column indices.
            right: Column indices, as many.
        """
        form = self.form[left]
        return (form != _NO_FORM) & (form == self.form[right])


def _recognise(sketches: Sequence[bytes]) -> dict[int, RecognisedColumn]:
    lexicon = load_lexicon()
    hashes = {column: np.frombuffer(sketch, "<u8") for column, sketch in enumerate(sketches)}
    contents = {
        column: lexicon.recognise(values) for column, values in hashes.items() if len(values)
    }
    return {column: content for column, content in contents.items() if content}


def _count_shared(recognised: dict[int, RecognisedColumn], columns: int) -> sparse.coo_array:
    """Count the entities that each pair of columns shares."""
    contents = recognised.values()
    column = np.repeat(list(recognised), [len(content.entities) for content in contents])
    entity = np.concatenate([content.entities for content in contents])
    holds = sparse.csr_array(
        (np.ones(len(entity), np.int32), (column, entity)), (columns, load_lexicon().entities)
    )
    return (holds @ holds.T).tocoo()
