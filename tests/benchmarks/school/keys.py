"""Change the keys of a database: running numbers, codes and words, and how they are called."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pandas as pd

from benchmarks.school.database import EXTERNAL, Database, Random, Reference, domains
from benchmarks.school.headers import singulars
from benchmarks.school.lake import distinct
from benchmarks.school.values import document, letters
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_STARTS = (1, 1, 1, 1, 100, 1_000, 10_001, 500_000)
_STEPS = (1, 1, 1, 10)
_RECODED = 0.3
"""Share of the keys that become codes or words, where keys are recoded."""
_ALIKE = 0.9
"""Share of the columns that are called like the key to which they refer, where keys are renamed."""


def renumber(database: Database, random: Random, *, shuffled: bool = False) -> Database:
    """Replace keys with sequential integers, also in the columns that refer to them.

    Overlap alone finds a key that is a word or a long code. Keys of real systems are mostly
    integers, which coincide with those of all other tables.

    Args:
        database: The database.
        random: Source of the first numbers.
        shuffled: Number in random order, so that two copies of one database do not agree.
    """
    return _rewrite(
        database, lambda columns: _numbers(database, columns, random, shuffled=shuffled)
    )


def _rewrite(
    database: Database, write: Callable[[list[ColumnName]], Mapping[str, str]]
) -> Database:
    """Replace the values of all columns that lead to one key; none if `write` returns nothing."""
    tables = {name: frame.copy() for name, frame in database.tables.items()}
    for group in domains(database.references):
        if any(column.table.startswith(EXTERNAL) for column in group):
            continue
        columns = [column for column in group if database.has(column)]
        if written := write(columns):
            for table, column in columns:
                tables[table][column] = tables[table][column].map(written)
    return replace(database, tables=tables)


def _numbers(
    database: Database, columns: list[ColumnName], random: Random, *, shuffled: bool
) -> dict[str, str]:
    """Assign a number to each distinct value of some columns.

    The values of the column with the most values come first.
    """
    keys = sorted(columns, key=lambda column: -len(database.values(column)))
    cells = [database.tables[table][column] for table, column in keys]
    values = [value for value in pd.unique(pd.concat(cells)) if value != ""] if cells else []
    if shuffled:
        values = [values[int(at)] for at in random.permutation(len(values))]
    start, step = int(random.choice(_STARTS)), int(random.choice(_STEPS))
    return {"": "", **{value: str(start + step * at) for at, value in enumerate(values)}}


def recode(database: Database, random: Random) -> Database:
    """Replace some keys with codes or words, also in the columns that refer to them."""

    def write(columns: list[ColumnName]) -> dict[str, str]:
        if random.random() >= _RECODED:
            return {}
        cells = [database.tables[table][column] for table, column in columns]
        known = [value for value in pd.unique(pd.concat(cells)) if value != ""] if cells else []
        make = (document, letters)[int(random.integers(2))]
        texts = [*dict.fromkeys(make(4 * len(known), random))]
        if len(texts) < len(known):
            return {}
        drawn = random.permutation(len(texts))[: len(known)].tolist()
        return {"": "", **dict(zip(known, (texts[at] for at in drawn), strict=True))}

    return _rewrite(database, write)


def name_after_tables(database: Database, random: Random) -> Database:
    """Name all keys that are called `id` after their tables, as `loan_id`, `loanid` or `l_id`."""
    kind = int(random.integers(4))
    names = {}
    for table, frame in database.tables.items():
        word = next(singulars(table)) if kind else table
        name = f"{word[0]}_id" if kind == 3 else f"{word}id" if kind == 2 else f"{word}_id"
        own = next((each for each in map(str, frame.columns) if each.lower() == "id"), None)
        if own and name not in frame.columns:
            names[ColumnName(table, own)] = name
    return _rename(database, names)


def name_alike(database: Database, random: Random) -> Database:
    """Name keys that are called `id` after their tables, and call columns that refer to them alike.

    As in `user_id` or `uid`: the table's name or its first letters, with or without a separator.
    A role before the table's name stays.
    """
    kind, letters = int(random.integers(4)), int(random.integers(1, 5))
    names: dict[ColumnName, str] = {}
    for key in sorted({one.target for one in database.references}):
        word = next(singulars(key.table))
        plain = word.replace("_", "")
        name = (f"{word}_id", f"{plain}id", f"{plain[:letters]}id", f"{word}_key")[kind]
        if database.has(key) and key.column.lower() == "id":
            names |= {key: name} if name not in database.tables[key.table] else {}
    for one in database.references:
        if one.target in names and one.origin not in names and random.random() < _ALIKE:
            for ending in _foreign_names(one.target.table):
                role = one.origin.column[: -len(ending)]
                name = role + names[one.target]
                is_free = name not in database.tables[one.origin.table]
                if one.origin.column.lower() == (role + ending).lower() and is_free:
                    names[one.origin] = name
    return _rename(database, names)


def _foreign_names(table: str) -> Iterator[str]:
    for word in singulars(table):
        yield from (f"{word}_id", f"{word}id")


def _rename(database: Database, names: Mapping[ColumnName, str]) -> Database:
    """Rename columns, in tables and references."""

    def renamed(one: ColumnName) -> ColumnName:
        return ColumnName(one.table, names.get(one, one.column))

    references, parts = (
        tuple(Reference(renamed(one.origin), renamed(one.target)) for one in declared)
        for declared in (database.references, database.parts)
    )
    tables = {
        table: frame.set_axis(
            distinct(renamed(ColumnName(table, each)).column for each in map(str, frame.columns)),
            axis=1,
        )
        for table, frame in database.tables.items()
    }
    return replace(database, tables=tables, references=references, parts=parts)
