"""Tables on their way into the lake: a publisher's own CSV text, or rows made of other formats."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

DemoTable = tuple[str, str]
"""A name and its CSV text."""


def copy_csv(folder: Path, *names: str) -> Iterator[DemoTable]:
    """A publisher's CSV files as they are; gzipped ones unpacked.

    Args:
        folder: Where they are.
        *names: File names.

    Yields:
        One table a file.
    """
    for name in names:
        content = folder.joinpath(name).read_bytes()
        text = gzip.decompress(content) if name.endswith(".gz") else content
        yield name.split(".", maxsplit=1)[0], text.decode()


def from_records(name: str, records: Iterable[Mapping[str, Any]]) -> DemoTable:
    """Rows as a table.

    Args:
        name: The table's name.
        records: One mapping from column to value a row.

    Returns:
        The table; a column that a row lacks is empty there.
    """
    return name, pd.DataFrame.from_records(list(records)).to_csv(index=False)


def read_json(path: Path) -> Any:  # noqa: ANN401 - JSON is anything
    """The content of a JSON file, which may be gzipped.

    Args:
        path: The file.

    Returns:
        What it holds.
    """
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
