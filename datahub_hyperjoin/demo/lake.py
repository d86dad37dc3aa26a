"""Writes the lake: a folder a publisher, a file a table."""

import io
import tempfile
from pathlib import Path

from pyarrow import csv, parquet

from datahub_hyperjoin.demo.publishers import PUBLISHERS

_LARGE = 1 << 20
"""Characters of CSV from which a table is written as Parquet."""


def _write_table(folder: Path, name: str, text: str) -> None:
    if len(text) < _LARGE:
        folder.joinpath(f"{name}.csv").write_text(text, "utf-8")
    else:
        table = csv.read_csv(io.BytesIO(text.encode()))
        parquet.write_table(table, folder / f"{name}.parquet")


def write_lake(folder: Path) -> int:
    """Writes the quick start's lake, whole or not at all.

    Small tables are CSV files, large ones Parquet.

    Args:
        folder: Where; it must not exist yet.

    Returns:
        How many tables were written.

    Raises:
        MissingExtraError: A package that carries a part of the lake is not installed.
    """
    count = 0
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        fresh = Path(scratch, "lake")
        for publisher, tables in PUBLISHERS.items():
            own = fresh / publisher
            own.mkdir(parents=True)
            for name, text in tables():
                _write_table(own, name, text)
                count += 1
        fresh.rename(folder)
    return count
