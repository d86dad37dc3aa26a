"""Recognise the codes and names of entities in a column."""

from dataclasses import dataclass, fields
from functools import cache

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt64

from datahub_hyperjoin.model.array_cache import cached_arrays
from datahub_hyperjoin.model.reference.kinds import EntityKind
from datahub_hyperjoin.normal_form import Synonyms, hash_values, normal_forms
from datahub_hyperjoin.tables import ValueHash

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

    entities: Int[np.ndarray, " entity"]
    """Indices of the entities, without duplicates."""

    form: int
    """Number of the form that most values have; forms are numbered across all entity kinds."""

    size: int
    """Number of different entities in the column, counting each unexplained value as one."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All codes and names of entities, sorted by hash.

    Entities and forms are numbered through all kinds.
    """

    hashes: UInt64[np.ndarray, " name"]
    entity: Int[np.ndarray, " name"]
    form: Int[np.ndarray, " name"]
    kind: Int[np.ndarray, " name"]
    chance: Float[np.ndarray, " form"]
    """Probability that a random word of the same length is a code of the form: nearly half of all
    words of three letters are IATA codes."""

    entities: int
    """Number of entities of all kinds."""

    kinds: tuple[str, ...]
    """The name of each kind, in the plural."""

    kind_of: Int[np.ndarray, " form"]
    """The kind that each form belongs to."""

    @classmethod
    def from_kinds(
        cls, kinds: tuple[EntityKind, ...], value_hash: ValueHash = ValueHash.SIPHASH
    ) -> "Lexicon":
        """Build a lexicon from entity kinds.

        Entities and forms are numbered across all kinds. A name that two entities of a
        kind share belongs to the first of them.

        Args:
            value_hash: The hash by which values are looked up.
        """
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
        """Recognise the entities of a column from its sketch.

        The kind that explains most values wins; if several explain as many, the entities of all
        of them are returned, since nothing tells which kind is meant.
        """
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
        """Return the synonyms among the codes and names of an entity kind, for verification.

        All codes and names of one entity are synonyms. Verification always uses SipHash.
        """
        rows = self.kind == self.kinds.index(kind)
        meanings = pa.array([f"{kind} {entity}" for entity in self.entity[rows]])
        return Synonyms(self.hashes[rows], hash_values(meanings))

    def _find(
        self, sketch: UInt64[np.ndarray, " value"]
    ) -> tuple[Int[np.ndarray, " value"], Int[np.ndarray, " value"]]:
        """For each hash, return its first row in the lexicon and the number of its rows.

        A hash has one row for each kind that contains its name.
        """
        start = np.searchsorted(self.hashes, sketch)
        return start, np.searchsorted(self.hashes, sketch, side="right") - start


def _chance(kind: EntityKind, form: int) -> float:
    """Return the probability that a random word happens to be a code or name of the given form.

    A form is one kind of code or one source of names. The random word is as long as one of the
    form's codes or names. Only forms made of letters alone or digits alone can be hit by chance.
    """
    names = {entry.name.lower() for entry in kind.names if entry.form == form}
    characters = "".join(names)
    if not (characters.isascii() and (characters.isalpha() or characters.isdecimal())):
        return 0.0
    alphabet = _LETTERS if characters.isalpha() else _DIGITS
    return round(len(names) / sum(alphabet**length for length in set(map(len, names))), 6)


@cache
def load_lexicon(value_hash: ValueHash = ValueHash.SIPHASH) -> Lexicon:
    """Load the lexicon of all entity kinds.

    The first call on a machine takes seconds; the arrays are then kept in the user's cache folder.
    """
    name = _CACHED[value_hash]
    arrays = dict(cached_arrays(name, lambda: _build_arrays(value_hash), packages=_SOURCES))
    kinds, entities = arrays.pop("kinds"), arrays.pop("entities")
    names = kinds.tobytes().decode().split("\n")
    return Lexicon(**arrays, kinds=tuple(names), entities=int(entities[0]))


def _build_arrays(value_hash: ValueHash) -> dict[str, np.ndarray]:
    """Build the lexicon as arrays, which can be cached.

    The names of the kinds are bytes, separated by line breaks.
    """
    # The lists take a tenth of a second to import, and are read once for all runs.
    from datahub_hyperjoin.model.reference.code_lists import load_kinds  # noqa: PLC0415

    built = Lexicon.from_kinds(load_kinds(), value_hash)
    arrays = {field.name: getattr(built, field.name) for field in fields(built)}
    names = np.frombuffer("\n".join(built.kinds).encode(), np.uint8)
    return {**arrays, "kinds": names, "entities": np.array([built.entities])}
