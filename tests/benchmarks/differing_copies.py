"""Write copies of a labelled lake that differ in their rows and columns."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.directed_lake import Directed

_Tables = dict[str, pd.DataFrame]


def write_copy(
    tables: Path,
    folder: Path,
    references: Iterable[Directed],
    *,
    rows: float,
    columns: float,
    random: np.random.Generator,
) -> None:
    """Write a copy of a lake's tables without some of their rows and columns.

    Rows go with those that they refer to, so that references stay as whole as they were. Columns
    of references stay.

    Args:
        tables: The folder with the lake's tables, as CSV files.
        folder: Where to write the copy.
        references: The declared references.
        rows: Probability that a row stays, if what it refers to does.
        columns: Probability that a column stays.
        random: Draws what stays.
    """
    whole = {
        path.stem: pd.read_csv(path, dtype=str, keep_default_na=False)
        for path in sorted(tables.glob("*.csv"))
    }
    links = [*references]
    kept = {name: table[random.random(len(table)) < rows] for name, table in whole.items()}
    while _drop_dangling(kept, whole, links):
        pass
    needed = {each for link in links for each in link}
    folder.mkdir(parents=True)
    for name, table in kept.items():
        stay = [
            column
            for column in table.columns
            if (name, column) in needed or random.random() < columns
        ]
        if stay:
            table[stay].to_csv(folder / f"{name}.csv", index=False)


def _drop_dangling(
    kept: _Tables, whole: Mapping[str, pd.DataFrame], links: Iterable[Directed]
) -> bool:
    """Drop rows that refer to a dropped row, and return whether there were any."""
    dropped = False
    for (table, column), (key_table, key) in links:
        gone = set(whole[key_table][key]) - set(kept[key_table][key])
        dangles = kept[table][column].isin(gone)
        dropped |= bool(dangles.any())
        kept[table] = kept[table][~dangles]
    return dropped
