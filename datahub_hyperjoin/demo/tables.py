"""Convert data files of Python packages to tables in CSV format."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

DemoTable = tuple[str, str]
"""Name and CSV text of a table."""


def copy_csv(folder: Path, *names: str) -> Iterator[DemoTable]:
    """Yield the name and the text of each CSV file, decompressed if necessary."""
    for name in names:
        content = folder.joinpath(name).read_bytes()
        text = gzip.decompress(content) if name.endswith(".gz") else content
        yield name.split(".", maxsplit=1)[0], text.decode()


def from_records(name: str, records: Iterable[Mapping[str, Any]]) -> DemoTable:
    """Convert records to a table in CSV format.

    Args:
        records: One mapping from column to value per row.
    """
    return name, pd.DataFrame.from_records(list(records)).to_csv(index=False)


def read_json(path: Path) -> Any:  # noqa: ANN401 (JSON has any type)
    """Parse a JSON file, which may be gzipped."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
