"""Columns that hold the same things, whatever they call them.

A column of country codes and one of country names share no value, and yet rows of the one have
partners in the other. Where nearly all values of a column are what things of one kind are called,
the column is the set of those things, and two such columns overlap as far as their things do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from scipy import sparse

from datahub_hyperjoin.model.reference.lexicon import Recognised, lexicon
from datahub_hyperjoin.model.signals.priors import PairValues

_NO_FORM = -1
_FEW = 3.0
"""Shared things at which overlap counts for about two thirds."""


@dataclass(frozen=True)
class EntityOverlap:
    """How far columns of different tables hold the same things, and which have the same form."""

    form: Int[np.ndarray, " column"]
    """What each column's values are, for example country codes of two letters; -1 if unknown."""

    pairs: PairValues
    """The pairs that share a thing, and how far they overlap.

    In (0.5, 1]: a half for things of one kind, which samples of large tables need not share; and
    half the share of things of the one that the other holds, in the better of both directions, less
    if they share few.
    """

    @classmethod
    def nothing(cls, columns: int) -> "EntityOverlap":
        """No column is recognised.

        Args:
            columns: How many columns the lake has.

        Returns:
            What is known of values that are not read.
        """
        return cls(np.full(columns, _NO_FORM), PairValues.from_places(columns, {}))

    @classmethod
    def of(cls, sketches: Sequence[bytes], table_of: Int[np.ndarray, " column"]) -> "EntityOverlap":
        """Recognises columns. One whose sketch is a sample shares less than it would as a whole.

        Args:
            sketches: Each column's, as its profile has it; an empty one is not recognised.
            table_of: Each column's table.

        Returns:
            Pairs of columns of different tables.
        """
        names = lexicon()
        found: dict[int, Recognised] = {}
        for column, sketch in enumerate(sketches):
            if sketch and (one := names.recognise(np.frombuffer(sketch, "<u8"))):
                found[column] = one
        if not found:
            return cls.nothing(len(sketches))
        form, size = np.full(len(sketches), _NO_FORM), np.ones(len(sketches))
        for column, one in found.items():
            form[column], size[column] = one.form, one.values
        columns = np.repeat(list(found), [len(one.things) for one in found.values()])
        things = np.concatenate([one.things for one in found.values()])
        holds = sparse.csr_array(
            (np.ones(len(things), np.int32), (columns, things)), (len(sketches), names.things)
        )
        shared = (holds @ holds.T).tocoo()
        left, right = shared.row.astype(np.int64), shared.col.astype(np.int64)
        kept = table_of[left] != table_of[right]
        order = np.flatnonzero(kept)[np.lexsort((right[kept], left[kept]))]
        left, right, count = left[order], right[order], shared.data[order]
        smaller = np.minimum(size[left], size[right])
        overlap = (1 + count / smaller * (1 - np.exp(-count / _FEW))) / 2
        return cls(form, PairValues(len(sketches), left, right, overlap))

    def kind(self, left: int, right: int) -> str | None:
        """What both columns hold things of.

        Args:
            left: A column.
            right: Another.

        Returns:
            The kind's name in the lexicon; none if one of them is not recognised, or if they hold
            things of different kinds.
        """
        forms = self.form[[left, right]]
        if _NO_FORM in forms:
            return None
        one, other = lexicon().kind_of[forms]
        return lexicon().kinds[one] if one == other else None

    def alike(
        self, left: Int[np.ndarray, "*shape"], right: Int[np.ndarray, "*shape"]
    ) -> Bool[np.ndarray, "*shape"]:
        """Whether both columns of given pairs call things of one kind in the same form.

        Args:
            left: Columns.
            right: Columns, as many.

        Returns:
            One answer a pair.
        """
        form = self.form[left]
        return (form != _NO_FORM) & (form == self.form[right])
