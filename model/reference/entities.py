"""Compare columns by the entities that their values denote, such as countries.

A column of country codes and a column of country names share no value, but their rows match. If
nearly all values of a column are codes or names of one entity kind, the column represents a set of
entities, and two such columns are compared by these sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from datahub_hyperjoin.model.reference.lexicon import Lexicon, RecognisedColumn, load_lexicon
from datahub_hyperjoin.tables import ValueHash

_NO_FORM = -1
_NOTHING = -1
"""Index of a missing partner, if a column has fewer partners than requested."""
_SHARED_SCALE = 3.0
"""Number of shared entities at which an overlap counts about two thirds of its full value."""

_ONES = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)
"""Number of bits that are set in each byte."""
_BLOCK_PAIRS = 1 << 22
"""Number of pairs that are compared at once; each takes some 50 bytes."""


@dataclass(frozen=True)
class EntityOverlap:
    """The overlap of columns, measured by the entities that their values denote.

    The form of each column's values, such as two-letter codes, is included.

    Most tables of a large lake may have a column of countries, so pairs are measured when they are
    asked for: memory is linear in the columns.
    """

    form: Int[np.ndarray, " column"]
    """The form of each column's values, such as two-letter country codes; -1 if not recognised."""

    size: Float[np.ndarray, " column"]
    """Number of different entities in each column, where a value that is no known entity counts as
    one; 1 if the column is not recognised."""

    table_of: Int[np.ndarray, " column"]

    held: UInt8[np.ndarray, "recognised byte"]
    """One bit for each recognised column and each entity of the lake: 1 if the column holds the
    entity."""

    @classmethod
    def empty(cls, columns: int) -> "EntityOverlap":
        """Return an instance for columns without recognised entities."""
        nothing, none = np.full(columns, _NO_FORM), np.zeros((0, 1), dtype=np.uint8)
        return cls(nothing, np.ones(columns), np.arange(columns), none)

    @classmethod
    def from_sketches(
        cls,
        sketches: Sequence[bytes],
        table_of: Int[np.ndarray, " column"],
        value_hash: ValueHash = ValueHash.SIPHASH,
    ) -> "EntityOverlap":
        """Recognise the entities in columns.

        Overlap is underestimated for a column whose sketch does not hold all of its values.

        Args:
            sketches: The sketch of each column as in its profile; empty to skip the column.
        """
        columns = len(sketches)
        recognised = _recognise(sketches, load_lexicon(value_hash))
        if not recognised:
            return cls.empty(columns)
        form, size = np.full(columns, _NO_FORM), np.ones(columns)
        for column, content in recognised.items():
            form[column], size[column] = content.form, content.size
        return cls(form, size, table_of, _pack([each.entities for each in recognised.values()]))

    def of(
        self, left: Int[np.ndarray, "*shape"], right: Int[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """Return the overlap of each requested pair: either 0, or above 0.5 and at most 1.

        A half is for the common kind: samples of large tables need not share entities. The other
        half is multiplied by the share of the smaller column's entities that the larger one holds,
        less if they share few. It is 0 for a pair within a table or without a shared entity.
        """
        overlap = np.zeros(left.shape)
        may = (self.form[left] != _NO_FORM) & (self.form[right] != _NO_FORM)
        may &= self.table_of[left] != self.table_of[right]
        first, second = left[may], right[may]
        rows, others = self._row_of[first], self._row_of[second]
        shared = np.zeros(len(first))
        step = max(_BLOCK_PAIRS // self.held.shape[1], 1)
        for start in range(0, len(first), step):
            some = slice(start, start + step)
            both = self.held[rows[some]] & self.held[others[some]]
            shared[some] = _ONES[both].sum(axis=1, dtype=np.int64)
        overlap[may] = _strength(shared, np.minimum(self.size[first], self.size[second]))
        return overlap

    def partners(self, keys: Int[np.ndarray, " key"], count: int) -> Int[np.ndarray, "key partner"]:
        """For each key column, return the columns that it overlaps most, best first.

        Time is quadratic in the recognised columns: 2 s for 10,000 columns of countries.

        Returns:
            Column indices; -1 where fewer columns overlap. Of equal overlaps, the first columns are
            selected.
        """
        found = np.full((len(keys), count), _NOTHING, dtype=np.int32)
        recognised, asked = self._columns, np.flatnonzero(self.form[keys] != _NO_FORM)
        held = np.unpackbits(self.held, axis=1).astype(np.float32)
        step = max(_BLOCK_PAIRS // max(len(recognised), 1), 1)
        for start in range(0, len(asked), step):
            some = asked[start : start + step]
            column = keys[some]
            shared = (held[self._row_of[column]] @ held.T).astype(np.float64)
            shared[self.table_of[column][:, None] == self.table_of[recognised]] = 0
            smaller = np.minimum(self.size[column][:, None], self.size[recognised])
            best = _greatest(_strength(shared, smaller), count)
            found[some, : best.shape[1]] = np.where(best < 0, _NOTHING, recognised[best])
        return found

    @cached_property
    def _columns(self) -> Int[np.ndarray, " recognised"]:
        """Indices of the recognised columns, ascending."""
        return np.flatnonzero(self.form != _NO_FORM)

    @cached_property
    def _row_of(self) -> Int[np.ndarray, " column"]:
        """For each column, its row in `held`; -1 for a column that was not recognised."""
        row_of = np.full(len(self.form), -1)
        row_of[self._columns] = np.arange(len(self._columns))
        return row_of

    def kind(self, left: int, right: int) -> str | None:
        """Return the entity kind that two columns share, or None.

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

        It is false if the form of a column was not recognised.
        """
        form = self.form[left]
        return (form != _NO_FORM) & (form == self.form[right])


def _recognise(sketches: Sequence[bytes], lexicon: Lexicon) -> dict[int, RecognisedColumn]:
    hashes = {column: np.frombuffer(sketch, "<u8") for column, sketch in enumerate(sketches)}
    contents = {
        column: lexicon.recognise(values) for column, values in hashes.items() if len(values)
    }
    return {column: content for column, content in contents.items() if content}


def _pack(contents: Sequence[Int[np.ndarray, " _"]]) -> UInt8[np.ndarray, "recognised byte"]:
    """Return a column × entity matrix of bits, eight to a byte: 1 if the column holds the entity.

    Entities that no column holds are left out.
    """
    used, entity = np.unique(np.concatenate(contents), return_inverse=True)
    holds = np.zeros((len(contents), len(used)), dtype=bool)
    holds[np.repeat(np.arange(len(contents)), [*map(len, contents)]), entity] = True
    return np.packbits(holds, axis=1)


def _strength(
    shared: Float[np.ndarray, "*shape"], smaller: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Compute the overlap of pairs of columns from the number of entities that they share.

    `shared` holds the numbers of shared entities, `smaller` the sizes of the smaller columns.
    """
    overlap = (1 + shared / smaller * (1 - np.exp(-shared / _SHARED_SCALE))) / 2
    return np.where(shared > 0, overlap, 0.0)


def _greatest(
    values: Float[np.ndarray, "row column"], count: int
) -> Int[np.ndarray, "row greatest"]:
    """Return the positions of the greatest positive values of each row, greatest first.

    Of equal values, the first ones are selected; -1 fills the remaining positions.
    """
    count = min(count, values.shape[1])
    # Sorting whole rows would take several times as long.
    least = np.partition(values, values.shape[1] - count, axis=1)[:, -count][:, None]
    missing = count - (values > least).sum(axis=1, keepdims=True)
    ties = values == least
    chosen = (values > least) | (ties & (np.cumsum(ties, axis=1) <= missing))
    positions = np.nonzero(chosen)[1].reshape(len(values), count)
    picked = np.take_along_axis(values, positions, axis=1)
    order = np.argsort(-picked, axis=1, kind="stable")
    positions = np.take_along_axis(positions, order, axis=1)
    return np.where(np.take_along_axis(picked, order, axis=1) > 0, positions, _NOTHING)
