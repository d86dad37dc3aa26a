"""Writes the lake: a folder a publisher, a file a table."""

import io
import tempfile
from importlib.metadata import metadata
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


def _provenance() -> str:
    rows = [
        "# Where these tables come from",
        "",
        "The licence is the package's; the data in it may have one of its own.",
        "",
        "| folder | package | licence |",
        "|---|---|---|",
    ]
    for name, publisher in PUBLISHERS.items():
        about = metadata(publisher.distribution)
        named = about.get_all("License-Expression") or about.get_all("License")
        licence = str(named[0]).strip().splitlines()[0] if named else "see the package"
        rows.append(f"| {name} | {publisher.distribution} {about['Version']} | {licence} |")
    return "\n".join([*rows, ""])


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
        for name, publisher in PUBLISHERS.items():
            own = fresh / name
            own.mkdir(parents=True)
            for title, text in publisher.tables():
                _write_table(own, title, text)
                count += 1
        fresh.joinpath("PROVENANCE.md").write_text(_provenance(), "utf-8")
        fresh.rename(folder)
    return count
