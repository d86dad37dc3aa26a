"""What a column's values are called by: the things that they stand for, and in which form."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt64

from datahub_hyperjoin.model.reference.code_lists import kinds
from datahub_hyperjoin.model.reference.kinds import Kind
from datahub_hyperjoin.normal_form import Synonyms, hash_values, normal_forms

_MOST = 0.7
"""Share of a column's values that one kind must explain, beyond chance: publishers add totals and
regions, and half of the codes of one kind are those of another."""
_FEWEST = 3
"""Values that it must explain: one or two could be of any kind."""
_LUCK = 3e-3
"""How probable it may be that codes explain so many values by chance: `Y`, `N` and `NA` are
chemical elements."""
_LETTERS, _DIGITS = 26, 10
_FIRST = 64
"""Hashes that are looked up first; most columns are of no kind."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A column whose values are what things of one kind are called."""

    things: Int[np.ndarray, " thing"]
    """Their numbers, each once."""

    form: int
    """The form that most of the values have; each form of each kind has a number of its own."""

    values: int
    """Different things that the column holds, values that no name explains included."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Everything that things are called, sorted by the hash of its normal form.

    Things and forms are numbered through all kinds.
    """

    hashes: UInt64[np.ndarray, " name"]
    thing: Int[np.ndarray, " name"]
    form: Int[np.ndarray, " name"]
    kind: Int[np.ndarray, " name"]
    chance: Float[np.ndarray, " form"]
    """How many words of their length are codes of a form: nearly half of three letters are IATA's.
    """

    things: int
    """How many things there are."""

    kinds: tuple[str, ...]
    """What the things of each kind are, in the plural."""

    kind_of: Int[np.ndarray, " form"]
    """The kind that each form belongs to."""

    @classmethod
    def of(cls, listed: tuple[Kind, ...]) -> "Lexicon":
        """Numbers what kinds hold; a name that two things of a kind have is the first one's.

        Args:
            listed: The kinds, at least one.

        Returns:
            Their names.
        """
        kind = np.repeat(np.arange(len(listed)), [len(one.called) for one in listed])
        thing, form, name = zip(*(called for one in listed for called in one.called), strict=True)
        hashes = hash_values(normal_forms(pa.array(name)))
        order = np.lexsort((kind, hashes))
        hashes, kind = hashes[order], kind[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (hashes[1:] != hashes[:-1]) | (kind[1:] != kind[:-1])
        things = np.cumsum([0, *(one.things for one in listed)])
        forms = np.cumsum([0, *(one.forms for one in listed)])
        return cls(
            hashes=hashes[first],
            thing=(np.array(thing)[order] + things[kind])[first],
            form=(np.array(form)[order] + forms[kind])[first],
            kind=kind[first],
            chance=np.array([_chance(one, form) for one in listed for form in range(one.forms)]),
            things=int(things[-1]),
            kinds=tuple(one.name for one in listed),
            kind_of=np.repeat(np.arange(len(listed)), [one.forms for one in listed]),
        )

    def recognise(self, sketch: UInt64[np.ndarray, " value"]) -> Recognised | None:
        """The things that a column's values stand for.

        Args:
            sketch: Hashes of its values, ascending.

        Returns:
            Things of the kind that explains most values, of all such kinds if there are several;
            nothing if none explains enough.
        """
        head = sketch[:_FIRST]
        if np.count_nonzero(self._counts(head)[1]) < _MOST / 2 * len(head):
            return None
        start, count = self._counts(sketch)
        places = np.repeat(start - np.cumsum(count) + count, count) + np.arange(count.sum())
        explained = np.bincount(self.kind[places], minlength=1)
        most = int(explained.max())
        if most < _FEWEST:
            return None
        best = places[explained[self.kind[places]] == most]
        form = int(np.bincount(self.form[best]).argmax())
        chance = self.chance[form]
        if chance**most > _LUCK or most < (_MOST + (1 - _MOST) * chance) * len(sketch):
            return None
        things = np.unique(self.thing[best])
        return Recognised(things=things, form=form, values=len(things) + len(sketch) - most)

    def synonyms(self, kind: str) -> Synonyms:
        """All that things of one kind are called.

        Args:
            kind: One of `kinds`.

        Returns:
            Which names mean the same thing.
        """
        own = self.kind == self.kinds.index(kind)
        meanings = pa.array([f"{kind} {thing}" for thing in self.thing[own]])
        return Synonyms(self.hashes[own], hash_values(meanings))

    def _counts(
        self, sketch: UInt64[np.ndarray, " value"]
    ) -> tuple[Int[np.ndarray, " value"], Int[np.ndarray, " value"]]:
        """Where the names of each hash begin, and how many there are."""
        start = np.searchsorted(self.hashes, sketch)
        return start, np.searchsorted(self.hashes, sketch, side="right") - start


def _chance(kind: Kind, form: int) -> float:
    names = {called.name.lower() for called in kind.called if called.form == form}
    signs = "".join(names)
    if not (signs.isascii() and (signs.isalpha() or signs.isdecimal())):
        return 0.0
    alphabet = _LETTERS if signs.isalpha() else _DIGITS
    return round(len(names) / sum(alphabet**length for length in set(map(len, names))), 6)


@cache
def lexicon() -> Lexicon:
    """The names of all kinds."""
    return Lexicon.of(kinds())
