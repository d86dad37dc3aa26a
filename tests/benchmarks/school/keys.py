"""Replace the keys of a database with running numbers."""

from dataclasses import replace

import pandas as pd

from benchmarks.school.database import EXTERNAL, Database, Random, domains
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_STARTS = (1, 1, 1, 1, 100, 1_000, 10_001, 500_000)
_STEPS = (1, 1, 1, 10)


def renumber(database: Database, random: Random, *, shuffled: bool = False) -> Database:
    """Replace keys with sequential integers, also in the columns that refer to them.

    Overlap alone finds a key that is a word or a long code. Keys of real systems are mostly
    integers, which coincide with those of all other tables.

    Args:
        database: The database.
        random: Source of the first numbers.
        shuffled: Number in random order, so that two copies of one database do not agree.
    """
    tables = {name: frame.copy() for name, frame in database.tables.items()}
    for group in domains(database.references):
        if any(column.table.startswith(EXTERNAL) for column in group):
            continue
        columns = [column for column in group if database.has(column)]
        numbers = _numbers(database, columns, random, shuffled=shuffled)
        for table, column in columns:
            tables[table][column] = tables[table][column].map(numbers)
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
