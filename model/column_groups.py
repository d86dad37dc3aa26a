"""Groups of columns that refer to the same key or share a value domain."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.model.domains import find_domains
from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.value_forms import ValueForm

_MIN_MEMBERS = 3
"""Minimum number of columns in a group; two columns are just a pair."""
_VALUE_FORMS = {"", *(form.value for form in ValueForm)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnGroup:
    """A key with the columns that refer to it, or several columns of one value domain."""

    members: tuple[ColumnId, ...]
    """The columns, in the order of their identifiers."""

    key: ColumnId | None
    """The member to which the others refer, if there is one."""

    @property
    def anchor(self) -> ColumnId:
        """The identifying member: the key, or the first member if there is no key."""
        return self.key or self.members[0]


def find_column_groups(joins: Sequence[Join]) -> tuple[ColumnGroup, ...]:
    """Group the columns that refer to the same key or share a value domain.

    Columns that refer to no key are grouped by value domain.

    A column belongs to the key of its best reference, and, if that refers to another key, to that
    one. So one false reference does not merge two groups. The columns of a value domain without a
    reference join the group that has at least half of the domain.

    Args:
        joins: The joins. Only joins of single columns whose values were compared as values count.

    Returns:
        Groups of at least three columns, in the order of their anchors.
    """
    equal = [join for join in joins if _compares_values(join)]
    keys = _keys(equal)
    groups: dict[ColumnId, set[ColumnId]] = defaultdict(set)
    for column, key in keys.items():
        groups[key] |= {column, key}
    found: list[ColumnGroup] = []
    for domain in find_domains(equal):
        owners = Counter(keys[member] for member in domain.members if member in keys)
        free = {member for member in domain.members if member not in keys and member not in groups}
        [(key, held)] = owners.most_common(1) or [(domain.representative, 0)]
        if held * 2 >= len(domain.members):
            groups[key] |= free
        elif len(free) >= _MIN_MEMBERS:
            found.append(ColumnGroup(members=tuple(sorted(free)), key=None))
    found += [
        ColumnGroup(members=tuple(sorted(members)), key=key)
        for key, members in groups.items()
        if len(members) >= _MIN_MEMBERS
    ]
    return tuple(sorted(found, key=lambda group: group.anchor))


def _compares_values(join: Join) -> bool:
    return (
        not join.further
        and join.evidence is not None
        and join.measured.compared_as in (_VALUE_FORMS)
    )


def _keys(joins: Iterable[Join]) -> dict[ColumnId, ColumnId]:
    """Map each referring column to the key that it refers to.

    Of several keys, the one with the highest joinability counts. If that key itself refers to
    another key, the last key of the chain is used instead.
    """
    best: dict[ColumnId, ColumnId] = {}
    for join in sorted(joins, key=lambda join: (-join.joinability, join.left, join.right)):
        if join.referenced is not None:
            referring = join.left if join.referenced == join.right else join.right
            best.setdefault(referring, join.referenced)
    keys = {column: _follow(column, best) for column in best}
    return {column: key for column, key in keys.items() if column != key}


def _follow(column: ColumnId, best: Mapping[ColumnId, ColumnId]) -> ColumnId:
    way = [column]
    while (after := best.get(way[-1])) is not None:
        if after in way:
            return min(way[way.index(after) :])
        way.append(after)
    return way[-1]
