"""Reduce a database to a few rows without breaking its references."""

from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.school.database import Database, Random

_SPARE = 1.6
"""Factor by which a table may exceed the drawn number of rows after referenced rows are added."""

_STEPS = 3
"""Number of steps along references that add rows to the sample."""

_FEWEST = 4
"""Rows of the smallest table that is kept."""

_LONGEST = 120
"""Number of characters to which longer cells are cut."""


def sample(database: Database, rows: int, random: Random) -> Database:
    """Draw rows of each table, and add the rows to which they refer.

    Columns without a value and tables of less than four rows are left out.

    Args:
        database: The whole database.
        rows: Rows to draw of each table.
        random: Source of the draw.
    """
    kept = {
        name: set(random.permutation(len(frame))[:rows].tolist())
        for name, frame in sorted(database.tables.items())
    }
    for _ in range(_STEPS):
        _add_referenced(database, kept, int(_SPARE * rows))
    tables = {
        name: _tidy(frame.iloc[sorted(kept[name])])
        for name, frame in sorted(database.tables.items())
        if len(kept[name]) >= _FEWEST
    }
    return replace(database, tables=tables).without_dangling_references()


def _add_referenced(database: Database, kept: dict[str, set[int]], most: int) -> None:
    for reference in database.references:
        origin, target = reference.origin, reference.target
        if not (database.has(origin) and database.has(target)):
            continue
        rows = np.array(sorted(kept[origin.table]), dtype=np.intp)
        wanted = set(database.tables[origin.table][origin.column].iloc[rows])
        keys = database.tables[target.table][target.column]
        places = np.flatnonzero(keys.isin(wanted)).tolist()
        missing = [place for place in places if place not in kept[target.table]]
        kept[target.table].update(missing[: max(0, most - len(kept[target.table]))])


def _tidy(frame: pd.DataFrame) -> pd.DataFrame:
    tidy = frame.apply(lambda column: column.str.slice(0, _LONGEST))
    return tidy.loc[:, (tidy != "").any()].reset_index(drop=True)
