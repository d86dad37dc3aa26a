"""Decide which columns share a value domain, and remove redundant joins within a domain.

Twenty-two tables with a column of countries form 231 pairs. Together, these pairs only show that
the columns share a value domain.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil

import numpy as np
from scipy.special import expit

from datahub_hyperjoin.joins import BANDS, Cardinality, Derivation, Join, JoinedColumns, Role
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.pair_features import log_odds
from datahub_hyperjoin.model.roles.references import NO_KEY, Relations
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, stems
from datahub_hyperjoin.model.signals.pairs import Floats, PairFloats, PairInts
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Pair,
    TableId,
    TableProfile,
)
from datahub_hyperjoin.value_forms import VALUE_FORMS

_MIN_MEMBERS = 3
"""Minimum number of columns in a domain; two columns are just a pair."""
_ENOUGH_PARTNERS = 2
"""Groups of columns merge if each column of the smaller group joins, on average, this many columns
of the larger group. The number does not grow with the group: a ranking lists only the best
candidates, so a column of a large domain is never suggested for most of the domain's columns."""
_ENOUGH_COVERAGE = 0.8
"""Minimum coverage of a domain's representative, as a share of the greatest coverage in the
domain."""


# The ranking measures how much two columns have in common. How much they have in common by chance
# depends on what is around them. Tables of an application refer to each other, and what else is
# equal in them, such as names of states and kinds, mostly joins nothing. Files of publishers refer
# to nothing, and columns with the same values are what joins them.

DOMAIN_FEATURES = ("score", "shared", "references", "around")
"""What is known of a pair: the log-odds of its score in the ranking; ln(1 + n) of its n shared
values; ln(1 + r) of the r references that are expected from and to its tables, for the table with
fewer; and the share of tables with references in the folders or schemas of both tables."""


@dataclass(frozen=True, slots=True)
class DomainWeights:
    """The weights of a logistic regression of one domain on `DOMAIN_FEATURES`."""

    features: tuple[float, ...]
    constant: float

    def weigh(self, described: Floats) -> PairFloats:
        """Return the probability of one domain for described pairs."""
        return np.asarray(expit(described @ np.array(self.features) + self.constant))


FITTED_WEIGHTS = DomainWeights((0.25, 1.65, -1.7, -3.6), constant=-1.3)
"""The weights that `python -m benchmarks.domain_weights` fits to lakes of the school, rounded."""


class DomainOdds:
    """What is around the columns of a lake, to describe pairs by."""

    def __init__(self, lake: Lake, relations: Relations) -> None:
        self._lake = lake
        refers = np.flatnonzero(relations.key != NO_KEY)
        ends = lake.table_of[np.concatenate([refers, relations.key[refers]])]
        likely = np.tile(relations.probability[refers], 2)
        expected = np.bincount(ends, likely, minlength=len(lake.titles))
        self._references = np.log1p(expected)
        tables = np.unique(lake.table_of)
        places, linked = lake.table_places[tables], np.minimum(expected[tables], 1.0)
        self._around = np.bincount(places, linked) / np.maximum(np.bincount(places), 1)

    def describe(
        self, left: PairInts, right: PairInts, score: PairFloats, shared: Sequence[int]
    ) -> Floats:
        """Measure `DOMAIN_FEATURES` of pairs, a row for each."""
        lake, ends = self._lake, np.stack([left, right])
        references = self._references[lake.table_of[ends]].min(axis=0)
        around = self._around[lake.place_of[ends]].mean(axis=0)
        return np.column_stack([log_odds(score), np.log1p(shared), references, around])


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A value domain: columns whose values come from one set."""

    members: tuple[ColumnId, ...]  # the columns, in the order of their identifiers
    # The member that represents the others: of the members with the most values, the most unique
    # one.
    representative: ColumnId
    name: str  # the most frequent column name of the members
    probability: float  # mean joinability of the joins among the members, in [0, 1]


def find_domains(
    joins: Iterable[Join], profiles: Mapping[ColumnId, ColumnProfile] | None = None
) -> tuple[Domain, ...]:
    """Group columns into value domains, and choose a representative column of each domain."""
    # Groups are merged along the joins as long as most pairs of the merged group join. A chain of
    # columns, each similar only to the next one, therefore stays apart. Without profiles, the
    # member that joins most others represents the domain.
    edges = {(join.left, join.right): join.joinability for join in joins if _same_values(join)}
    domains = [_describe(inner, profiles or {}) for inner in _merge_groups(edges)]
    return tuple(sorted(domains, key=lambda domain: (-len(domain.members), domain.members)))


_FAMILY = 3
"""Minimum number of columns of a table that is recognised by the names of its columns; many lists
of codes have an id and a name."""
_NEARLY_UNIQUE = 0.9
"""Minimum uniqueness of a key with a few repeated values."""
_DATE = re.compile(r"\d{4}(?P<day>-\d\d(-\d\d)?\b.*)?")
_MOSTLY = 0.5
"""Minimum share of dates in the sample of a column of dates, which may also hold years and other
texts."""


def set_aside(
    joins: Sequence[Join], tables: Iterable[TableProfile]
) -> tuple[tuple[Join, ...], Mapping[Derivation, tuple[Join, ...]]]:
    """Split joins into those that are listed by default and, by reason, those that follow.

    A join that a person or the catalog confirms is always listed.
    """
    known = _Surroundings.of(joins, tables)
    reasons = [known.derive(join) for join in joins]
    split = {
        reason: tuple(join for join, why in zip(joins, reasons, strict=True) if why is reason)
        for reason in (None, *Derivation)
    }
    listed = split.pop(None)
    return listed, {reason: derived for reason, derived in split.items() if reason and derived}


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What is known of the tables of joins."""

    columns: Mapping[TableId, Sequence[ColumnProfile]]
    keyed: frozenset[frozenset[TableId]]
    """Pairs of tables of which one refers to the other."""

    finest: Mapping[frozenset[TableId], JoinedColumns]
    """For each two tables, the columns of their best join that repeats rows on both sides."""

    @classmethod
    def of(cls, joins: Iterable[Join], tables: Iterable[TableProfile]) -> "_Surroundings":
        joins = tuple(joins)
        keyed = frozenset(frozenset(join.tables) for join in joins if join.role.is_directed)
        repeating = (join for join in joins if _repeats(join) and join.role is Role.SAME_DOMAIN)
        finest = {frozenset(join.tables): join.pairs for join in sorted(repeating, key=_fineness)}
        return cls({table.table.id: table.columns for table in tables}, keyed, finest)

    def derive(self, join: Join) -> Derivation | None:
        """Return why a join is not listed; None if it is."""
        if join.catalog.is_confirmed:
            return None
        if self._are_family(*join.tables):
            return Derivation.SAME_COLUMNS
        if join.role.is_directed:
            return None
        repeats, between = _repeats(join), frozenset(join.tables)
        if repeats and join.role is Role.SIBLING:
            return Derivation.SAME_KEY
        ends = {join.left, join.right}
        sides = [each for table in join.tables for each in self.columns[table] if each.id in ends]
        # Origin and destination are roles of one airport.
        finest = {end for pair in self.finest.get(between, ()) for end in pair}
        is_other = between in self.keyed or (finest and finest.isdisjoint(ends))
        if repeats and is_other and not any(map(_is_nearly_key, sides)):
            return Derivation.SAME_TABLES
        return Derivation.DATES if all(map(_holds_dates, sides)) else None

    def _are_family(self, left: TableId, right: TableId) -> bool:
        """Return whether two tables have the same columns."""
        sizes = {len(self.columns[table]) for table in (left, right)}
        if left == right or len(sizes) > 1 or sizes.pop() < _FAMILY:
            return False
        header, other = ({each.id.path for each in self.columns[at]} for at in (left, right))
        return header == other


def _repeats(join: Join) -> bool:
    return join.measured.cardinality is Cardinality.MANY_MANY


def _fineness(join: Join) -> tuple[float, float, float]:
    """Return a sort key of the joins of two tables, of which the greatest is the finest."""
    # A ward has many streets, so that those who live in one street are all in one ward: the join
    # with the fewest rows tells rows apart best, if it is as sure as others.
    level = sum(join.joinability >= limit for limit in BANDS.values())
    return float(level), -float(join.measured.rows or 0), join.joinability


def _is_nearly_key(profile: ColumnProfile) -> bool:
    is_marked = not IDENTIFIER_WORDS.isdisjoint(stems(profile.id.path))
    return is_marked and profile.uniqueness >= _NEARLY_UNIQUE


def _holds_dates(profile: ColumnProfile) -> bool:
    if profile.type in {DataType.DATE, DataType.TIMESTAMP}:
        return True
    dates = [found for found in map(_DATE.fullmatch, profile.sample) if found]
    # Dates of long ago are often mere years; numbers of four digits are years beside dates alone.
    return len(dates) > _MOSTLY * len(profile.sample) and any(found["day"] for found in dates)


def drop_redundant_joins(
    joins: Sequence[Join], domains: Iterable[Domain], shown: Collection[JoinedColumns] = ()
) -> tuple[Join, ...]:
    """In each value domain, drop the joins that are not needed to connect the domain's columns."""
    # What is left is a star around the representative. A member that does not join it keeps a join
    # with a connected member: one of `shown` or, if there is none, the best.
    domain_of = {member: domain for domain in domains for member in domain.members}
    inner: dict[ColumnId, list[Join]] = defaultdict(list)
    for join in joins:
        domain = domain_of.get(join.left)
        if _same_values(join) and domain and domain is domain_of.get(join.right):
            inner[domain.representative].append(join)
    stars = {join.pairs for centre, group in inner.items() for join in _star(centre, group, shown)}
    dropped = {join.pairs for group in inner.values() for join in group} - stars
    return tuple(join for join in joins if join.pairs not in dropped or join.catalog.is_confirmed)


def _same_values(join: Join) -> bool:
    of_one_domain = join.role is Role.SAME_DOMAIN and not join.further
    return of_one_domain and join.measured.compared_as in VALUE_FORMS


@dataclass(slots=True)
class _Groups:
    """Groups of columns, with the number of joins between any two groups."""

    group: dict[ColumnId, ColumnId]  # the group of each column, named by one of its members
    members: dict[ColumnId, list[ColumnId]]  # the members of each group
    # The number of joins between each group and every other.
    links: dict[ColumnId, Counter[ColumnId]]

    @classmethod
    def apart(cls, pairs: Iterable[Pair]) -> "_Groups":
        """Create a group for each column of the given pairs."""
        links: dict[ColumnId, Counter[ColumnId]] = defaultdict(Counter)
        for left, right in pairs:
            links[left][right] += 1
            links[right][left] += 1
        return cls({end: end for end in links}, {end: [end] for end in links}, links)

    def merge(self, left: ColumnId, right: ColumnId) -> bool:
        """Merge two columns' groups if enough joins connect the groups; return True if merged."""
        # A column of the smaller group must join, on average, half of the larger one or two
        # columns.
        ends = {self.group[left], self.group[right]}
        if len(ends) == 1:
            return False
        small, large = sorted(ends, key=lambda end: (len(self.members[end]), end))
        partners = min(len(self.members[large]) / 2, _ENOUGH_PARTNERS)
        if self.links[large][small] < ceil(len(self.members[small]) * partners):
            return False
        self._move(small, large)
        return True

    def _move(self, small: ColumnId, large: ColumnId) -> None:
        # As the smaller group moves, no column moves more often than log2 of the number of columns.
        moved = self.members.pop(small)
        self.group.update(dict.fromkeys(moved, large))
        self.members[large] += moved
        for other, count in self.links.pop(small).items():
            del self.links[other][small]
            if other != large:
                self.links[large][other] += count
                self.links[other][large] += count


def _merge_groups(edges: Mapping[Pair, float]) -> list[dict[Pair, float]]:
    """Group columns that mostly join with each other, and return the pairs within each group."""
    # Pairs with the most partners in common come first: an accidental join between two domains has
    # few in common, however joinable it looks.
    partners = _partners(edges)

    def similarity(pair: Pair) -> float:
        left, right = (partners[end] for end in pair)
        return len(left & right) / len(left | right)

    pairs = sorted(edges, key=lambda pair: (-similarity(pair), -edges[pair], pair))
    groups = _Groups.apart(pairs)
    # A pair that comes too early is tried again, once its groups have grown towards each other.
    while sum(groups.merge(*pair) for pair in pairs):
        pass
    inner: dict[ColumnId, dict[Pair, float]] = defaultdict(dict)
    for left, right in pairs:
        if groups.group[left] == groups.group[right]:
            inner[groups.group[left]][left, right] = edges[left, right]
    return [
        inner[group] for group, members in groups.members.items() if len(members) >= _MIN_MEMBERS
    ]


def _partners(pairs: Iterable[Pair]) -> dict[ColumnId, set[ColumnId]]:
    """Map each column to a set: the column itself and all columns that it joins with."""
    partners: dict[ColumnId, set[ColumnId]] = defaultdict(set)
    for pair in pairs:
        for end in pair:
            partners[end].update(pair)
    return partners


def _describe(inner: Mapping[Pair, float], profiles: Mapping[ColumnId, ColumnProfile]) -> Domain:
    partners = Counter(end for pair in inner for end in pair)
    members = sorted(partners)

    known = [profiles[column] for column in members if column in profiles]
    enough = _ENOUGH_COVERAGE * max((_coverage(profile) for profile in known), default=0.0)
    names = Counter(column.path for column in members)
    return Domain(
        members=tuple(members),
        representative=max(
            members,
            key=lambda column: (*_usefulness(profiles.get(column), enough), partners[column]),
        ),
        name=min(names, key=lambda name: (-names[name], name)),
        probability=sum(inner.values()) / len(inner),
    )


def _usefulness(profile: ColumnProfile | None, enough: float) -> tuple[float, float]:
    """Return a sort key for columns that may represent a value domain; the greatest key wins."""
    # The uniqueness and the coverage, which is the number of distinct values times the
    # completeness.
    if profile is None or _coverage(profile) < enough:
        return 0.0, 0.0
    return profile.uniqueness, _coverage(profile)


def _coverage(profile: ColumnProfile) -> float:
    return profile.distinct * profile.completeness


def _star(centre: ColumnId, joins: Sequence[Join], shown: Collection[JoinedColumns]) -> list[Join]:
    """Choose a few joins that connect all columns of a domain."""
    # If no join with the centre is left, a column is added by a join with any connected column, if
    # possible by one of `shown`: the scores of many such joins are nearly equal, and would choose
    # others in each run.
    joins_of: dict[ColumnId, list[tuple[bool, bool, float, int, Join]]] = defaultdict(list)
    for position, join in enumerate(joins):
        ends, is_new = {join.left, join.right}, join.pairs not in shown
        for end in ends:
            joins_of[end].append((centre not in ends, is_new, -join.joinability, position, join))
    reached, chosen, bridging = {centre}, list[Join](), sorted(joins_of[centre])
    while bridging:
        *_, best = heappop(bridging)
        for added in {best.left, best.right} - reached:
            chosen.append(best)
            reached.add(added)
            for other in joins_of[added]:
                heappush(bridging, other)
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnGroup:
    """A key with the columns that refer to it, or several columns of one value domain."""

    members: tuple[ColumnId, ...]  # the columns, in the order of their identifiers
    key: ColumnId | None  # the member to which the others refer, if there is one

    @property
    def anchor(self) -> ColumnId:
        """The identifying member: the key, or the first member if there is no key."""
        return self.key or self.members[0]


def find_column_groups(joins: Sequence[Join]) -> tuple[ColumnGroup, ...]:
    """Group the columns that refer to the same key or share a value domain."""
    # A column belongs to the key of its best reference, and, if that refers to another key, to that
    # one. So one false reference does not merge two groups. The columns of a value domain without a
    # reference join the group that has at least half of the domain.
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
        not join.further and join.evidence is not None and join.measured.compared_as in VALUE_FORMS
    )


def _keys(joins: Iterable[Join]) -> dict[ColumnId, ColumnId]:
    """Map each referring column to the key that it refers to."""
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
