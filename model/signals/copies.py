"""Recognise tables that are copies of others, and choose which of them other tables join.

Copies have the same columns and values, or nearly so if their names say the same, too: backups,
staging tables, exports, `orders (1).csv`. A table joins no copy of itself. Others join the copy
that is nearest to them, so that a database that stands twice keeps its joins in both places.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, takewhile
from pathlib import PurePosixPath

import numpy as np

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.pairs import ColumnMask, Ints, Masks, number_pairs
from datahub_hyperjoin.tables import ColumnProfile, TableId

_WORDS = (
    "archived?|backups?|bak|bkp|copy|copies|dump|final|old|orig|snapshot|stage|staging|stg|te?mp"
)
_IN_NAMES = "clean(?:ed)?|dedup(?:ed)?|dup(?:licate)?|export|extract|latest|new|raw|sample|subset"
_DATE = r"(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[T_-]?\d{4,6})?"
_MARK = re.compile(
    rf"^(?:copy of|kopie von|copie de|copia de)[ _]+|^(?:{_WORDS}|raw|src|vw?)[ _-]+(?=.)"
    rf"|(?<=.)[ _.-]*\(\d+\)$"
    rf"|(?<=.)[ _.-]+(?:{_WORDS}|{_IN_NAMES}|copie|kopie|copia|view|v\d+|{_DATE})$",
    re.IGNORECASE,
)
"""What the name of a copy has in addition to that of its original."""
_FOLDER = re.compile(rf"(?:^|[^a-z])(?:{_WORDS}|dev|test)(?:$|[^a-z])", re.IGNORECASE)
"""Part of the name of a folder or schema that holds copies."""
_ALIKE = 0.8
"""Minimum share of values that a table of the same name has in common with its copy, in each column
that identifies rows and on average."""
_UNIQUE = 0.9
_MANY = 10
"""Minimum number of distinct values of a column that tables share by more than chance."""
_COUNTER = 0.5
"""Density above which numbers are the same in every table, since they only count."""
_MOST = 64
"""Maximum number of tables of one name that are compared with each other."""


def strip_marks(title: str) -> tuple[str, int]:
    """Return a table's name without the marks of a copy, and their number.

    >>> [strip_marks(name) for name in ("orders", "Orders (1)", "stg_orders_2024-01-15")]
    [('orders', 0), ('orders', 1), ('orders', 2)]
    """
    name, marks = title.casefold(), 0
    while (shorter := _MARK.sub("", name, count=1)) != name:
        name, marks = shorter, marks + 1
    return name, marks


@dataclass(frozen=True)
class Copies:
    """The groups of tables of a lake that are copies of each other."""

    lake: Lake
    groups: Sequence[Sequence[int]] = ()
    """The tables of each group, the one that looks like the original first."""
    _nearest: dict[tuple[str, int], int] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _group_of(self) -> Mapping[int, int]:
        return {table: number for number, group in enumerate(self.groups) for table in group}

    @property
    def originals(self) -> tuple[tuple[TableId, TableId], ...]:
        """Each copy, with the table of which it is one."""
        ids = self.lake.tables
        found = ((ids[copy], ids[first]) for first, *others in self.groups for copy in others)
        return tuple(sorted((copy, first) for copy, first in found if copy and first))

    @cached_property
    def _is_copied(self) -> ColumnMask:
        """Whether each column is in a copy, or copied; a copy may have further columns."""
        is_copied = np.zeros(len(self.lake), dtype=bool)
        for first, *others in self.groups:
            paths = {self.lake.paths[column].casefold() for column in self.lake.columns_of[first]}
            for table in (first, *others):
                own = self.lake.columns_of[table].tolist()
                is_copied[own] = [self.lake.paths[each].casefold() in paths for each in own]
        return is_copied

    def are_apart(self, left: Ints, right: Ints) -> Masks:
        """Mark the pairs of columns that do not join, as one is in a copy."""
        count, apart = len(self.lake.titles), np.zeros(np.shape(left), dtype=bool)
        tables = [self.lake.table_of[side] for side in (left, right)]
        chosen = np.nonzero(self._is_copied[left] | self._is_copied[right])
        pairs = number_pairs(tables[0][chosen], tables[1][chosen], count)
        distinct, at = np.unique(pairs, return_inverse=True)
        ends = zip(*(each.tolist() for each in np.divmod(distinct, count)), strict=True)
        apart[chosen] = np.array([self._is_apart(*each) for each in ends], dtype=bool)[at]
        return apart

    def _is_apart(self, one: int, other: int) -> bool:
        groups = self._group_of
        if one != other and one in groups and groups[one] == groups.get(other):
            return True
        return not (self._is_near(one, other) and self._is_near(other, one))

    def _is_near(self, table: int, place: int) -> bool:
        """Return whether a table is the copy that the tables of another one's folder join."""
        group = self._group_of.get(table)
        if group is None:
            return True
        key = self.lake.places[place], group
        if key not in self._nearest:
            near = [_in_common(key[0], self.lake.places[each]) for each in self.groups[group]]
            self._nearest[key] = self.groups[group][near.index(max(near))]
        return self._nearest[key] == table


def _in_common(one: str, other: str) -> float:
    """Return how many folders two paths have in common; the folder itself is nearer than others."""
    parts = [re.split("[/. ]", place) for place in (one, other)]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(*parts, strict=False))
    return len([*same]) + (one == other) / 2


def find_copies(lake: Lake, views: Collection[TableId] = ()) -> Copies:
    """Find the tables of a lake that are copies of each other."""
    finder = _Finder(lake)
    stems = [strip_marks(title) for title in lake.titles]
    above = [_marks_above(table) for table in lake.tables]
    marks = [own + others for (_, own), others in zip(stems, above, strict=True)]
    sizes = Counter(lake.places)

    def standing(table: int) -> tuple[object, ...]:
        """Return a sort key that puts the original first."""
        id_, place = lake.tables[table], lake.places[table]
        size, words = -sizes[place], len(lake.title_words[table])
        return marks[table], id_ in views, size, -finder.rows(table), words, str(id_)

    names = [stem for stem, _ in stems]
    are_views = [table in views for table in lake.tables]
    partly = finder.partly_alike(names, marks, are_views)
    found = _united([*finder.equal(), *finder.alike(names, marks), *partly])
    return Copies(lake, tuple(tuple(sorted(group, key=standing)) for group in found))


def _marks_above(table: TableId | None) -> int:
    """Return the number of marks in the names of the folders, workbook or schema of a table."""
    place = table.parent if table else ""
    return strip_marks(PurePosixPath(place).stem)[1] + (_FOLDER.search(place) is not None)


@dataclass(frozen=True)
class _Finder:
    """Compares the columns of tables."""

    lake: Lake

    @cached_property
    def _columns(self) -> list[dict[str, int]]:
        """The columns of each table, by their paths."""
        paths = self.lake.paths
        return [
            {paths[column].casefold(): column for column in own.tolist()}
            for own in self.lake.columns_of
        ]

    @cached_property
    def _tells(self) -> ColumnMask:
        """Whether two columns hold the same values for a reason, and not by chance."""
        return (self.lake.distinct >= _MANY) & (self.lake.density <= _COUNTER)

    def rows(self, table: int) -> int:
        """Return the number of rows of a table."""
        first = next(iter(self._columns[table].values()), None)
        return 0 if first is None else self.lake.profiles[first].rows

    def equal(self) -> Iterator[list[int]]:
        """Yield the tables that have the same columns, values and number of rows."""
        groups = defaultdict[object, list[int]](list)
        sketches = self.lake.sketches
        for table, own in enumerate(self._columns):
            if len(own) > 1 and self._tells[[*own.values()]].any():
                values = frozenset((path, sketches[column]) for path, column in own.items())
                groups[values, self.rows(table)].append(table)
        yield from (group for group in groups.values() if len(group) > 1)

    def alike(self, stems: Sequence[str], marks: Sequence[int]) -> Iterator[list[int]]:
        """Yield pairs of tables that have nearly the same content, and names of one stem."""
        groups = defaultdict[object, list[int]](list)
        for table, own in enumerate(self._columns):
            if own:
                groups[stems[table], frozenset(own)].append(table)
        for group in groups.values():
            for one, other in combinations(group[:_MOST], 2):
                is_marked = marks[one] != marks[other]
                if self._are_alike(one, other) or (is_marked and self._are_the_same(one, other)):
                    yield [one, other]

    def partly_alike(
        self, stems: Sequence[str], marks: Sequence[int], are_views: Sequence[bool]
    ) -> Iterator[list[int]]:
        """Yield pairs of tables of which one has all columns of the other, and its values.

        Their names say that one is a copy of the other, or the one with fewer columns is a view.
        """
        groups, holders = defaultdict[str, list[int]](list), defaultdict[str, set[int]](set)
        for table, own in enumerate(self._columns):
            groups[stems[table]].append(table)
            for path in own:
                holders[path].add(table)
        pairs = [pair for group in groups.values() for pair in combinations(group[:_MOST], 2)]
        pairs = [(one, other) for one, other in pairs if marks[one] != marks[other]]
        for view in np.flatnonzero(are_views).tolist():
            if own := self._columns[view]:
                wider = set.intersection(*(holders[path] for path in own)) - {view}
                pairs += [(view, other) for other in sorted(wider)[:_MOST] if not are_views[other]]
        for pair in pairs:
            fewer, more = sorted(pair, key=lambda table: len(self._columns[table]))
            own = self._columns[fewer]
            is_part = len(own) > 1 and own.keys() <= self._columns[more].keys()
            if is_part and self._tells[[*own.values()]].any() and self._are_alike(more, fewer):
                yield [fewer, more]

    def _are_alike(self, one: int, other: int) -> bool:
        """Return whether a table has the values of another one, which may have fewer columns."""
        pairs, sketches = self._pairs(one, other), self.lake.sketches
        if all(sketches[left] == sketches[right] for left, right in pairs):
            return True
        shares = []
        for pair in pairs:
            if self._tells[[*pair]].any():
                profiles = [self.lake.profiles[column] for column in pair]
                shares.append(_overlap(*profiles))
                unique = max(each.uniqueness for each in profiles)
                if unique >= _UNIQUE and shares[-1] < _ALIKE:
                    return False
        return bool(shares) and sum(shares) >= _ALIKE * len(shares)

    def _are_the_same(self, one: int, other: int) -> bool:
        """Return whether tables have the same values in each column, also in those that count."""
        profiles, pairs = self.lake.profiles, self._pairs(one, other)
        return all(_overlap(profiles[left], profiles[right]) >= _ALIKE for left, right in pairs)

    def _pairs(self, one: int, other: int) -> list[tuple[int, int]]:
        """Pair each column of the second table with that of the same name in the first one."""
        left = self._columns[one]
        return [(left[path], right) for path, right in self._columns[other].items()]


def _overlap(left: ColumnProfile, right: ColumnProfile) -> float:
    """Estimate the share of the values of the column with fewer ones that the other has."""
    hashes = [np.frombuffer(each.sketch, np.dtype("<u8")) for each in (left, right)]
    # A sketch says nothing of the hashes beyond its largest one.
    last = min(each[-1] for each in hashes)
    is_cut = left.distinct_is_estimated or right.distinct_is_estimated
    first, second = (each[each <= last] if is_cut else each for each in hashes)
    return len(np.intersect1d(first, second)) / max(min(len(first), len(second)), 1)


def _united(groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """Unite groups that have a table in common."""
    group_of: dict[int, list[int]] = {}
    for group in groups:
        united = sorted({each for table in group for each in group_of.get(table, [table])})
        group_of |= dict.fromkeys(united, united)
    return [group for table, group in group_of.items() if table == group[0]]
