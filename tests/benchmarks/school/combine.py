"""Combine databases into one lake, and derive its joins from their references."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from benchmarks.school.database import EXTERNAL, Database, Random, Reference, domains
from benchmarks.school.lake import (
    CLOSURE,
    FK,
    Directed,
    SchoolLake,
    Truth,
    distinct,
    distinct_names,
)
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_FEWEST_VALUES = 3
"""Minimum number of distinct values of a column that has a join."""

_QUERIES_OF_DATABASE = 20
"""Maximum number of query columns of a database."""
_QUERIES_OF_DOMAIN = 5
"""Maximum number of query columns that lead to the same key."""

_COMMON = 5
"""Keys of two databases may mean the same things only if they share at least this many values."""

_DOUBT = 0.15
"""If a larger key holds at least this share of a key's values, both keys may mean the same."""
_SAME = 0.5
"""If a larger key holds at least this share of a key's values, both keys mean the same."""

_MASKS = 0.3
"""A key's values are taken for consecutive numbers if replacing each number by `#` leaves at most
this share of the distinct values."""


@dataclass(frozen=True)
class _Domain:
    """The columns of one lake that refer to the same key."""

    database: str
    columns: tuple[ColumnName, ...]
    speaking: frozenset[str]
    """The values of the key. Empty for consecutive numbers, because equal numbers of two
    databases need not identify the same thing."""


def combine(databases: Sequence[Database], random: Random, *, folders: bool = False) -> SchoolLake:
    """Combine databases into a labelled lake.

    A pair of columns joins if one refers to the other or both refer to the same key, and they
    share a value. Keys of two databases that share half of their speaking values mean the same;
    where they share less, but not nearly nothing, neither is asked for.

    Args:
        databases: Databases; two copies of one have different rows and keys.
        random: Source of the draw of query columns.
        folders: Whether each database has a folder of its own.
    """
    naming = _names_in_folders if folders else _names
    placed = [_place(database, names, at) for at, (database, names) in enumerate(naming(databases))]
    tables = {name: frame for database in placed for name, frame in database.tables.items()}
    references = [one for database in placed for one in database.references]
    whole = Database("lake", tables, tuple(references))
    # Two copies of a database are two databases: their keys are strangers.
    owners = {
        table: f"{database.name}/{at}"
        for at, database in enumerate(placed)
        for table in database.tables
    }
    described = (_domain(whole, group, owners) for group in domains(references))
    found = [domain for domain in described if domain]
    same, doubts = _across(found)
    groups = domains(same)
    doubtful = {column for pair in doubts for domain in pair for column in domain.columns}
    declared = {frozenset((one.origin, one.target)) for one in references}
    truth = sorted({one for group in groups for one in _joins(whole, group, declared)})
    queries = _draw_queries(truth, found, doubtful, random)
    return SchoolLake(
        tables,
        tuple(one for one in truth if one.query in queries),
        tuple(_directed(whole, truth)),
        {table: database.name for database in placed for table in database.tables},
        _declared(whole, placed),
        tuple(_neutral(whole, same, doubts)),
    )


def _declared(
    whole: Database, placed: Sequence[Database]
) -> tuple[tuple[ColumnName, ColumnName], ...]:
    """Return all declared references between columns that are in the lake, also parts of keys."""
    parts = (one for database in placed for one in database.parts)
    return tuple(
        sorted(
            {
                (one.origin, one.target)
                for one in (*whole.references, *parts)
                if whole.has(one.origin) and whole.has(one.target)
            }
        )
    )


def _neutral(
    whole: Database, same: Sequence[Reference], doubts: Sequence[tuple[_Domain, _Domain]]
) -> Iterator[tuple[ColumnName, ...]]:
    """Yield the groups of columns that lead to one key, or to keys that may mean the same."""
    doubted = [Reference(one.columns[0], other.columns[0]) for one, other in doubts]
    for group in domains((*whole.references, *same, *doubted)):
        there = tuple(one for one in group if whole.has(one))
        if len(there) > 1:
            yield there


def _names(databases: Sequence[Database]) -> Iterator[tuple[Database, dict[str, str]]]:
    """Give each table a name that is unique in the lake, by adding numbers where needed."""
    taken: Counter[str] = Counter()
    for database in databases:
        numbered = {}
        for table in sorted(database.tables):
            safe = _safe(table)
            taken[safe.lower()] += 1
            number = taken[safe.lower()]
            numbered[table] = safe if number == 1 else f"{safe}_{number}"
        yield database, distinct_names(numbered)


def _names_in_folders(databases: Sequence[Database]) -> Iterator[tuple[Database, dict[str, str]]]:
    """Put the tables of each database into a folder that has the database's name."""
    folders = distinct(one.name.rpartition("/")[2] for one in databases)
    for database, folder in zip(databases, folders, strict=True):
        [(_, names)] = _names([database])
        yield database, {table: f"{_safe(folder)}/{name}" for table, name in names.items()}


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name)


def _place(database: Database, names: Mapping[str, str], at: int) -> Database:
    """Rename the tables of a database to their names in the lake."""

    def placed(column: ColumnName) -> ColumnName:
        if column.table in names:
            return ColumnName(names[column.table], column.column)
        shared = column.table.startswith(EXTERNAL)
        return column if shared else ColumnName(f"{EXTERNAL}{at}/{column.table}", column.column)

    references, parts = (
        tuple(Reference(placed(one.origin), placed(one.target)) for one in declared)
        for declared in (database.references, database.parts)
    )
    tables = {names[table]: frame for table, frame in database.tables.items()}
    return Database(database.name, tables, references, parts)


def _domain(
    whole: Database, group: Sequence[ColumnName], owners: Mapping[str, str]
) -> _Domain | None:
    """Collect the columns that refer to one key, are in the lake and have enough values."""
    there = [one for one in group if whole.has(one)]
    values = {one: whole.values(one) for one in there}
    columns = tuple(one for one in there if len(values[one]) >= _FEWEST_VALUES)
    if not columns:
        return None
    all_values = frozenset[str]().union(*(values[one] for one in columns))
    forms = {re.sub(r"\d+", "#", value) for value in all_values}
    speaking = all_values if len(forms) > _MASKS * len(all_values) else frozenset[str]()
    return _Domain(owners[columns[0].table], columns, speaking)


def _across(found: Sequence[_Domain]) -> tuple[list[Reference], list[tuple[_Domain, _Domain]]]:
    """Link the columns of each domain, and domains of two databases with mostly equal values.

    Domains that overlap less are returned as doubtful.
    """
    same: list[Reference] = []
    doubtful: list[tuple[_Domain, _Domain]] = []
    for one, other in combinations(found, 2):
        shared = len(one.speaking & other.speaking) if one.database != other.database else 0
        if shared < _COMMON:
            continue
        share = shared / min(len(one.speaking), len(other.speaking))
        if share >= _SAME:
            same.append(Reference(one.columns[0], other.columns[0]))
        elif share >= _DOUBT:
            doubtful.append((one, other))
    for domain in found:
        same += [Reference(column, domain.columns[0]) for column in domain.columns[1:]]
    return same, doubtful


def _joins(
    whole: Database, group: Sequence[ColumnName], declared: set[frozenset[ColumnName]]
) -> Iterator[Truth]:
    """Yield the column pairs of a domain that share a value, in both directions."""
    values = {column: whole.values(column) for column in group}
    for one, other in permutations(group, 2):
        if one.table != other.table and values[one] & values[other]:
            kind = FK if frozenset((one, other)) in declared else CLOSURE
            yield Truth(one, other, kind)


def _draw_queries(
    truth: Sequence[Truth],
    found: Sequence[_Domain],
    doubtful: set[ColumnName],
    random: Random,
) -> set[ColumnName]:
    """Draw query columns: a few for each key, and at most a fixed number for each database."""
    joined = {one.query for one in truth} - doubtful
    drawn: dict[str, list[ColumnName]] = defaultdict(list)
    for domain in found:
        columns = [column for column in domain.columns if column in joined]
        order = random.permutation(len(columns))[:_QUERIES_OF_DOMAIN]
        drawn[domain.database] += [columns[int(at)] for at in order]
    return {
        columns[int(at)]
        for columns in drawn.values()
        for at in random.permutation(len(columns))[:_QUERIES_OF_DATABASE]
    }


def _directed(whole: Database, truth: Sequence[Truth]) -> Iterator[Directed]:
    """Yield the declared references between joining columns, each with its direction."""
    partners = Counter(one.target for one in whole.references)
    joining = {(one.query, one.candidate) for one in truth}
    for one in sorted(set(whole.references)):
        if (one.origin, one.target) in joining:
            yield Directed(one.origin, one.target, _direction(whole, one, partners))


def _direction(whole: Database, one: Reference, partners: Mapping[ColumnName, int]) -> str:
    if not _is_unique(whole, one.target):
        return "neither_unique"
    if not _is_unique(whole, one.origin):
        return "unique"
    return "by_partners" if partners[one.target] > 1 + partners.get(one.origin, 0) else "either"


def _is_unique(whole: Database, column: ColumnName) -> bool:
    cells = whole.tables[column.table][column.column]
    return bool(cells[cells != ""].is_unique)
