"""Decide whether two columns join because they share a value domain.

Not all columns with the same values do: counters all hold 1 to 10, and yes and no answer any
question.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, UInt64

from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.roles.relations import Relations
from datahub_hyperjoin.tables import ColumnId

_MAX_DENSITY = 0.5
"""Density above which a column of numbers is taken for a counter. Counters share no domain, because
every counter holds 1 to 10."""
_MAX_SELECTIVITY = 0.1
"""Selectivity of a join above which its values hardly tell rows apart."""
_FEW_VALUES = 2
"""Maximum number of shared values at which such a join is never useful: two values are a flag."""
_FIRST = 8
"""Number of hashes that are looked up first, since most columns lack one of them."""
_HASH = np.dtype("<u8")

_Hashes = UInt64[np.ndarray, " hash"]


@dataclass(frozen=True)
class SharedDomains:
    """An object that decides which pairs of columns may share a value domain."""

    index: LakeIndex
    """The lake."""

    relations: Relations
    """The key that each column refers to."""

    min_joinability: float
    """Minimum probability at which a column is taken to refer to its key."""

    def find_objection(self, left: int, right: int, evidence: Evidence) -> str:
        """Return the reason why two columns share no domain; empty if they may share one.

        Within a folder or schema, a column that refers to a key joins other columns through that
        key.
        """
        if not self.index.roles:
            return ""
        density = self.index.lake.density
        if max(density[left], density[right]) > _MAX_DENSITY:
            return (
                "its numbers fill their range without gaps, so that they are in every such column, "
                "and neither column surely refers to the other"
            )
        return self._find_nearby_key(left, right) or self._find_flag(left, right, evidence)

    def _find_nearby_key(self, left: int, right: int) -> str:
        ids, keys = self.index.lake.ids, self.relations.key
        if ids[left].table.place == ids[right].table.place:
            for column in (left, right):
                if self._refers_nearby(column):
                    return (
                        f"{ids[column]} refers to {ids[keys[column]]}, and joins other columns of "
                        "its folder through that key"
                    )
        return ""

    def _refers_nearby(self, column: int) -> bool:
        """Return whether a column refers to a key in the same folder or schema."""
        key, ids = int(self.relations.key[column]), self.index.lake.ids
        is_sure = self.relations.probability[column] >= self.min_joinability
        return bool(is_sure and ids[key].table.place == ids[column].table.place)

    def _find_flag(self, left: int, right: int, evidence: Evidence) -> str:
        """Object to a pair of columns such as flags, whose few values are in many rows."""
        selectivity = _selectivity(evidence)
        if evidence.cardinality is not Cardinality.MANY_MANY or selectivity <= _MAX_SELECTIVITY:
            return ""
        share = f"its values match in {selectivity:.0%} of all pairs of rows"
        if evidence.shared <= _FEW_VALUES:
            return f"{share}, and are only {evidence.shared}"
        other = self._find_other_holder(left, right)
        return f"{share}, and {other} holds them as well" if other else ""

    def _find_other_holder(self, left: int, right: int) -> ColumnId | None:
        """Find another column of the two tables that holds all values that both columns share."""
        lake = self.index.lake
        hashes = self._hashes(left)
        shared = hashes[_are_in(self._hashes(right), hashes)]
        tables = [lake.columns_of[lake.table_of[column]] for column in (left, right)]
        for column in np.concatenate(tables).tolist() if len(shared) else []:
            if column not in {left, right} and _holds_all(self._hashes(column), shared):
                return lake.ids[column]
        return None

    def _hashes(self, column: int) -> _Hashes:
        return np.frombuffer(self.index.lake.profiles[column].sketch, _HASH)


def _are_in(sketch: _Hashes, hashes: _Hashes) -> Bool[np.ndarray, " hash"]:
    """Mark the hashes that a sketch holds, both ascending; much faster than `numpy.isin`."""
    at = np.minimum(np.searchsorted(sketch, hashes), len(sketch) - 1)
    return np.asarray(sketch[at] == hashes)


def _holds_all(sketch: _Hashes, hashes: _Hashes) -> bool:
    """Return whether a sketch holds all of some hashes, of which a few mostly tell."""
    few = hashes[:_FIRST]
    return bool(_are_in(sketch, few).all() and _are_in(sketch, hashes).all())


def _selectivity(evidence: Evidence) -> float:
    """Return the share of all pairs of rows that a join keeps, in [0, 1]; 0 if it is unknown.

    A join of n rows repeats each of the n / f rows of a side f times, where f is the fan-out.
    """
    return evidence.left_fan_out * evidence.right_fan_out / evidence.rows if evidence.rows else 0.0
