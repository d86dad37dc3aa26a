"""Recognise columns of standard codes and names, and compare them by the entities they denote.

A column of country codes and a column of country names share no value, but their rows match. If
nearly all values of a column are codes or names of one entity kind, the column represents a set of
entities, and two such columns are compared by these sets.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt8, UInt64

from datahub_hyperjoin.model.array_cache import cached_arrays
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    Floats,
    Ints,
    KeyInts,
    Masks,
    SomeInts,
    chunks,
)
from datahub_hyperjoin.normal_form import Synonyms, hash_values, normal_forms
from datahub_hyperjoin.tables import ValueHash

_REMARK = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_MARKS = re.compile(r"[^\w\s]+")
_CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"
_ARTICLE = re.compile(r"^the ", re.IGNORECASE)


class EntityName(NamedTuple):
    """A code or a name of an entity."""

    entity: int  # the entity's number within its kind, from 0
    # The number of the form in which the text is written: a kind of code, or a source of names.
    form: int
    name: str  # the code or name as written


class EntityKind(NamedTuple):
    """An entity kind, such as countries, with all its codes and names."""

    name: str  # the kind's name, in the plural
    # First the codes of all entities, then their names. A name that two entities share belongs to
    # the first of these entities.
    names: tuple[EntityName, ...]
    entities: int  # number of entities
    # Number of ways to write an entity: one for each kind of code, and one per source of names.
    forms: int


def spellings(name: str) -> tuple[str, ...]:
    """Return the usual spellings of a name.

    >>> spellings("Korea, Republic of")
    ('Korea, Republic of', 'Korea Republic of', 'Republic of Korea')
    >>> spellings("Côte d'Ivoire")
    ("Côte d'Ivoire", "Cote d'Ivoire", 'Cote d Ivoire')
    """
    plain = _without_accents(name).replace(_CURLY, "'")
    head, comma, tail = plain.partition(", ")
    candidates = [
        name,
        plain,
        _REMARK.sub("", plain),
        " ".join(_MARKS.sub(" ", plain).split()),
        f"{tail} {head}" if comma else "",
        _ARTICLE.sub("", plain),
    ]
    return tuple(filter(None, dict.fromkeys(candidates)))


def _without_accents(name: str) -> str:
    if name.isascii():  # most of 200,000 names, which every run converts
        return name
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


_MIN_SHARE = 0.7
"""Minimum share of a column's values that must be entities of one kind, beyond matches by chance.
Publishers add totals and regions, and half of the codes of one kind are also codes of another."""
_MIN_EXPLAINED = 3
"""Minimum number of values that one kind must explain; fewer values could fit any kind."""
_MAX_CHANCE = 3e-3
"""Maximum probability that all recognised values look like codes by chance. For example, `Y`, `N`
and `NA` are also chemical elements."""
_LETTERS, _DIGITS = 26, 10
_SOURCES = ("airportsdata", "babel", "periodictable", "pycountry")
"""The Python packages that contain the lists of codes and names."""
_CACHED = {ValueHash.SIPHASH: "lexicon-1", ValueHash.MD5: "lexicon-md5-1"}
"""For each hash function, the name under which the lexicon's arrays are cached."""
_FIRST = 64
"""Hashes that are looked up first, since most columns hold no entities."""


@dataclass(frozen=True, slots=True)
class RecognisedColumn:
    """A column whose values were recognised as entities of one kind."""

    entities: Int[np.ndarray, " entity"]  # indices of the entities, without duplicates
    # Number of the form that most values have; forms are numbered across all entity kinds.
    form: int
    size: int  # number of different entities in the column, counting each unexplained value as one


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All codes and names of entities, sorted by hash."""

    hashes: UInt64[np.ndarray, " name"]
    entity: Int[np.ndarray, " name"]
    form: Int[np.ndarray, " name"]
    kind: Int[np.ndarray, " name"]
    # Probability that a random word of the same length is a code of the form: nearly half of all
    # words of three letters are IATA codes.
    chance: Float[np.ndarray, " form"]
    entities: int  # number of entities of all kinds
    kinds: tuple[str, ...]  # the name of each kind, in the plural
    kind_of: Int[np.ndarray, " form"]  # the kind that each form belongs to

    @classmethod
    def from_kinds(
        cls, kinds: tuple[EntityKind, ...], value_hash: ValueHash = ValueHash.SIPHASH
    ) -> "Lexicon":
        """Build a lexicon from entity kinds."""
        kind = np.repeat(np.arange(len(kinds)), [len(each.names) for each in kinds])
        entity, form, name = zip(*(entry for each in kinds for entry in each.names), strict=True)
        hashes = hash_values(normal_forms(pa.array(name)), value_hash)
        # The sort is stable, so the first row of each hash and kind is the first entity's.
        order = np.lexsort((kind, hashes))
        hashes, kind = hashes[order], kind[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (hashes[1:] != hashes[:-1]) | (kind[1:] != kind[:-1])
        entity_start = np.cumsum([0, *(each.entities for each in kinds)])
        form_start = np.cumsum([0, *(each.forms for each in kinds)])
        return cls(
            hashes=hashes[first],
            entity=(np.array(entity)[order] + entity_start[kind])[first],
            form=(np.array(form)[order] + form_start[kind])[first],
            kind=kind[first],
            chance=np.array([_chance(each, form) for each in kinds for form in range(each.forms)]),
            entities=int(entity_start[-1]),
            kinds=tuple(each.name for each in kinds),
            kind_of=np.repeat(np.arange(len(kinds)), [each.forms for each in kinds]),
        )

    def recognise(self, sketch: UInt64[np.ndarray, " value"]) -> RecognisedColumn | None:
        """Recognise the entities of a column from its sketch."""
        # The kind that explains most values wins; if several explain as many, the entities of all
        # of them are returned, since nothing tells which kind is meant.
        head = sketch[:_FIRST]
        # Half of the share, because the first hashes are a small sample.
        if np.count_nonzero(self._find(head)[1]) < _MIN_SHARE / 2 * len(head):
            return None
        start, count = self._find(sketch)
        # Rows of the lexicon: for each value the range from `start`, of length `count`.
        rows = np.repeat(start - np.cumsum(count) + count, count) + np.arange(count.sum())
        explained_by = np.bincount(self.kind[rows], minlength=1)
        explained = int(explained_by.max())
        if explained < _MIN_EXPLAINED:
            return None
        rows = rows[explained_by[self.kind[rows]] == explained]
        form = int(np.bincount(self.form[rows]).argmax())
        chance = self.chance[form]
        # Of the values that are no entities, this share matches all the same.
        share_needed = _MIN_SHARE + (1 - _MIN_SHARE) * chance
        if chance**explained > _MAX_CHANCE or explained < share_needed * len(sketch):
            return None
        entities = np.unique(self.entity[rows])
        return RecognisedColumn(entities, form, size=len(entities) + len(sketch) - explained)

    def synonyms(self, kind: str) -> Synonyms:
        """Return the synonyms among the codes and names of an entity kind, for verification."""
        # Verification always uses SipHash.
        rows = self.kind == self.kinds.index(kind)
        meanings = pa.array([f"{kind} {entity}" for entity in self.entity[rows]])
        return Synonyms(self.hashes[rows], hash_values(meanings))

    def _find(
        self, sketch: UInt64[np.ndarray, " value"]
    ) -> tuple[Int[np.ndarray, " value"], Int[np.ndarray, " value"]]:
        """For each hash, return its first row in the lexicon and the number of its rows."""
        start = np.searchsorted(self.hashes, sketch)
        return start, np.searchsorted(self.hashes, sketch, side="right") - start


def _chance(kind: EntityKind, form: int) -> float:
    """Return the probability that a random word happens to be a code or name of the given form."""
    # Only forms made of letters alone or digits alone can be hit by chance.
    names = {entry.name.lower() for entry in kind.names if entry.form == form}
    characters = "".join(names)
    if not (characters.isascii() and (characters.isalpha() or characters.isdecimal())):
        return 0.0
    alphabet = _LETTERS if characters.isalpha() else _DIGITS
    return round(len(names) / sum(alphabet**length for length in set(map(len, names))), 6)


@cache
def load_lexicon(value_hash: ValueHash = ValueHash.SIPHASH) -> Lexicon:
    """Load the lexicon of all entity kinds."""
    # The first call on a machine takes seconds; the arrays are then kept in the user's cache.
    name = _CACHED[value_hash]
    arrays = dict(cached_arrays(name, lambda: _build_arrays(value_hash), packages=_SOURCES))
    kinds, entities = arrays.pop("kinds"), arrays.pop("entities")
    names = kinds.tobytes().decode().split("\n")
    return Lexicon(**arrays, kinds=tuple(names), entities=int(entities[0]))


def _build_arrays(value_hash: ValueHash) -> dict[str, np.ndarray]:
    """Build the lexicon as arrays, which can be cached."""
    # The lists take a tenth of a second to import, and are read once for all runs.
    from datahub_hyperjoin.model.reference.code_lists import load_kinds  # noqa: PLC0415

    built = Lexicon.from_kinds(load_kinds(), value_hash)
    arrays = {field.name: getattr(built, field.name) for field in fields(built)}
    names = np.frombuffer("\n".join(built.kinds).encode(), np.uint8)
    return {**arrays, "kinds": names, "entities": np.array([built.entities])}


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
    """The overlap of columns, measured by the entities that their values denote."""

    # Most tables of a large lake may have a column of countries, so pairs are measured when they
    # are asked for: memory is linear in the columns.

    # The form of each column's values, such as two-letter country codes; -1 if not recognised.
    form: ColumnInts
    # Number of different entities in each column, where a value that is no known entity counts as
    # one; 1 if the column is not recognised.
    size: ColumnFloats
    table_of: ColumnInts
    # One bit for each recognised column and each entity of the lake: 1 if the column holds the
    # entity.
    held: UInt8[np.ndarray, "recognised byte"]

    @classmethod
    def empty(cls, columns: int) -> "EntityOverlap":
        """Return an instance for columns without recognised entities."""
        nothing, none = np.full(columns, _NO_FORM), np.zeros((0, 1), dtype=np.uint8)
        return cls(nothing, np.ones(columns), np.arange(columns), none)

    @classmethod
    def from_sketches(
        cls,
        sketches: Sequence[bytes],
        table_of: ColumnInts,
        value_hash: ValueHash = ValueHash.SIPHASH,
    ) -> "EntityOverlap":
        """Recognise the entities in columns."""
        # Overlap is underestimated for a column whose sketch does not hold all of its values.
        columns = len(sketches)
        recognised = _recognise(sketches, load_lexicon(value_hash))
        if not recognised:
            return cls.empty(columns)
        form, size = np.full(columns, _NO_FORM), np.ones(columns)
        for column, content in recognised.items():
            form[column], size[column] = content.form, content.size
        return cls(form, size, table_of, _pack([each.entities for each in recognised.values()]))

    def of(self, left: Ints, right: Ints) -> Floats:
        """Return the overlap of each requested pair: either 0, or above 0.5 and at most 1."""
        # A half is for the common kind: samples of large tables need not share entities. The other
        # half is multiplied by the share of the smaller column's entities that the larger one
        # holds, less if they share few.
        overlap = np.zeros(left.shape)
        may = (self.form[left] != _NO_FORM) & (self.form[right] != _NO_FORM)
        may &= self.table_of[left] != self.table_of[right]
        first, second = left[may], right[may]
        rows, others = self._row_of[first], self._row_of[second]
        shared = np.zeros(len(first))
        step = max(_BLOCK_PAIRS // self.held.shape[1], 1)
        for some in chunks(len(first), step):
            both = self.held[rows[some]] & self.held[others[some]]
            shared[some] = _ONES[both].sum(axis=1, dtype=np.int64)
        overlap[may] = _strength(shared, np.minimum(self.size[first], self.size[second]))
        return overlap

    def partners(self, keys: KeyInts, count: int) -> Int[np.ndarray, "key partner"]:
        """For each key column, return the columns that it overlaps most, best first."""
        # Time is quadratic in the recognised columns: 2 s for 10,000 columns of countries.
        found = np.full((len(keys), count), _NOTHING, dtype=np.int32)
        recognised, asked = self._columns, np.flatnonzero(self.form[keys] != _NO_FORM)
        held = np.unpackbits(self.held, axis=1).astype(np.float32)
        step = max(_BLOCK_PAIRS // max(len(recognised), 1), 1)
        for block in chunks(len(asked), step):
            some = asked[block]
            column = keys[some]
            shared = (held[self._row_of[column]] @ held.T).astype(np.float64)
            shared[self.table_of[column][:, None] == self.table_of[recognised]] = 0
            smaller = np.minimum(self.size[column][:, None], self.size[recognised])
            best = _greatest(_strength(shared, smaller), count)
            found[some, : best.shape[1]] = np.where(best < 0, _NOTHING, recognised[best])
        return found

    @cached_property
    def _columns(self) -> Int[np.ndarray, " recognised"]:
        """SomeInts of the recognised columns, ascending."""
        return np.flatnonzero(self.form != _NO_FORM)

    @cached_property
    def _row_of(self) -> ColumnInts:
        """For each column, its row in `held`; -1 for a column that was not recognised."""
        row_of = np.full(len(self.form), -1)
        row_of[self._columns] = np.arange(len(self._columns))
        return row_of

    def kind(self, left: int, right: int) -> str | None:
        """Return the entity kind that two columns share, or None."""
        forms = self.form[[left, right]]
        if _NO_FORM in forms:
            return None
        lexicon = load_lexicon()
        left_kind, right_kind = lexicon.kind_of[forms]
        return lexicon.kinds[left_kind] if left_kind == right_kind else None

    def same_form(self, left: Ints, right: Ints) -> Masks:
        """Return whether both columns of each pair have one form, such as two-letter codes."""
        form = self.form[left]
        return (form != _NO_FORM) & (form == self.form[right])


def _recognise(sketches: Sequence[bytes], lexicon: Lexicon) -> dict[int, RecognisedColumn]:
    hashes = {column: np.frombuffer(sketch, "<u8") for column, sketch in enumerate(sketches)}
    contents = {
        column: lexicon.recognise(values) for column, values in hashes.items() if len(values)
    }
    return {column: content for column, content in contents.items() if content}


def _pack(contents: Sequence[SomeInts]) -> UInt8[np.ndarray, "recognised byte"]:
    """Return a bit for each column and entity, eight to a byte: 1 if the column holds it."""
    used, entity = np.unique(np.concatenate(contents), return_inverse=True)
    holds = np.zeros((len(contents), len(used)), dtype=bool)
    holds[np.repeat(np.arange(len(contents)), [*map(len, contents)]), entity] = True
    return np.packbits(holds, axis=1)


def _strength(shared: Floats, smaller: Floats) -> Floats:
    """Compute the overlap of pairs of columns from the number of entities that they share."""
    overlap = (1 + shared / smaller * (1 - np.exp(-shared / _SHARED_SCALE))) / 2
    return np.where(shared > 0, overlap, 0.0)


def _greatest(
    values: Float[np.ndarray, "row column"], count: int
) -> Int[np.ndarray, "row greatest"]:
    """Return the positions of the greatest positive values of each row, greatest first."""
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
