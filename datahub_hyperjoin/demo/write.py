"""Write the demonstration lake, with one folder for each publisher."""

import io
import tempfile
from importlib.metadata import metadata
from pathlib import Path

from pyarrow import csv, parquet

from datahub_hyperjoin.demo.publishers import PUBLISHERS

_PARQUET_FROM = 1 << 20
"""Minimum size of a table's CSV text, in characters, for the table to be written as Parquet."""


def _write_table(folder: Path, name: str, text: str) -> None:
    if len(text) < _PARQUET_FROM:
        folder.joinpath(f"{name}.csv").write_text(text, "utf-8")
    else:
        table = csv.read_csv(io.BytesIO(text.encode()))
        parquet.write_table(table, folder / f"{name}.parquet")


def _provenance() -> str:
    rows = [
        "# Where these tables come from",
        "",
        "The licence is that of the package; the data in it may have a different one.",
        "",
        "| folder | package | licence |",
        "|---|---|---|",
    ]
    for name, publisher in PUBLISHERS.items():
        package = metadata(publisher.distribution)
        # Older packages have `License` instead, which may hold the full text below its name.
        licences = package.get_all("License-Expression") or package.get_all("License")
        licence = str(licences[0]).strip().splitlines()[0] if licences else "see the package"
        rows.append(f"| {name} | {publisher.distribution} {package['Version']} | {licence} |")
    return "\n".join([*rows, ""])


def write_lake(folder: Path) -> int:
    """Write the demonstration lake into a new folder, and return its number of tables.

    Small tables become CSV files, large ones Parquet files. The lake is written to a temporary
    folder and renamed at the end, so an interrupted run leaves nothing behind.

    Args:
        folder: Path of the lake; it must not exist yet.

    Returns:
        Number of tables written.

    Raises:
        MissingExtraError: A package with tables of the lake is not installed.
    """
    count = 0
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        fresh = Path(scratch, "lake")
        for name, publisher in PUBLISHERS.items():
            publisher_folder = fresh / name
            publisher_folder.mkdir(parents=True)
            for title, text in publisher.tables():
                _write_table(publisher_folder, title, text)
                count += 1
        fresh.joinpath("PROVENANCE.md").write_text(_provenance(), "utf-8")
        fresh.rename(folder)
    return count
