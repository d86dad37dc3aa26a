"""Read the latest version of a Delta table."""

from collections.abc import Collection, Generator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import dataset

from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import MissingDeltaError
from datahub_hyperjoin.spark.files.nested import (
    flatten,
    leaf_columns,
    top_level_fields,
    translate_read_errors,
)


@dataclass(frozen=True, slots=True)
class DeltaFiles:
    """Consecutive data files of a version of a Delta table."""

    version: int
    """The version."""

    first: int
    """Index of the first file."""

    end: int
    """Index after the last file."""


def read_delta(
    path: Path, paths: Collection[str] | None, part: DeltaFiles | None = None
) -> TableStream:
    """Open a Delta table.

    Args:
        path: The table's folder.
        paths: Paths of the columns to read; all if None.
        part: The data files to read; all of the latest version if None.

    Returns:
        The table being read, with its partition columns.

    Raises:
        MissingDeltaError: The package `deltalake` is not installed.
        UnreadableTableError: The log cannot be read, or the table uses a feature that
            `deltalake` does not support.
    """
    _, files = _open(path, part.version if part else None)
    if part:
        chosen = [*files.get_fragments()][part.first : part.end]
        files = dataset.FileSystemDataset(chosen, files.schema, files.format, files.filesystem)
    with translate_read_errors():
        extent = RowEstimate(files.count_rows())
    columns, notes = choose_columns(leaf_columns(files.schema), paths)
    return TableStream(columns, _batches(files, columns), notes, extent)


def list_delta_files(path: Path) -> tuple[int, int]:
    """Return the latest version of a Delta table, and the number of its data files.

    Args:
        path: The table's folder.

    Raises:
        MissingDeltaError: The package `deltalake` is not installed.
        UnreadableTableError: The log cannot be read.
    """
    version, files = _open(path)
    return version, sum(1 for _ in files.get_fragments())


def _open(path: Path, version: int | None = None) -> tuple[int, dataset.FileSystemDataset]:
    """Return the version of a Delta table, by default the latest one, and its data files."""
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 (an optional requirement)
        from deltalake.exceptions import DeltaError  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingDeltaError.of_table() from None
    with translate_read_errors(DeltaError):
        table = DeltaTable(path, version=version)
        return table.version(), table.to_pyarrow_dataset()


def _batches(
    files: dataset.Dataset, columns: Collection[Column]
) -> Generator[pa.RecordBatch, None, None]:
    paths = readable_paths(columns)
    fields = top_level_fields(files.schema, paths)
    with translate_read_errors():
        for batch in files.to_batches(columns=fields, use_threads=False):
            yield flatten(batch, paths)
