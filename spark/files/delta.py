"""Read the latest version of a Delta table."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import MissingReaderError
from datahub_hyperjoin.spark.files.nested import (
    flatten,
    leaf_columns,
    top_level_fields,
    translate_read_errors,
)

if TYPE_CHECKING:
    from pyarrow import dataset


def read_delta(
    path: Path, paths: Paths, *, version: str = "", files: range | None = None
) -> TableStream:
    """Open a version of a Delta table (default: the latest), or some of its data files."""
    _, table = _open(path, version)
    if files is not None:
        from pyarrow import dataset  # noqa: PLC0415 (it imports pandas)

        chosen = [*table.get_fragments()][files.start : files.stop]
        table = dataset.FileSystemDataset(chosen, table.schema, table.format, table.filesystem)
    with translate_read_errors():
        extent = RowEstimate(table.count_rows())
    columns, notes = choose_columns(leaf_columns(table.schema), paths)
    return TableStream(columns, _batches(table, columns), notes, extent)


def list_delta_files(path: Path) -> tuple[str, list[int]]:
    """Return the latest version of a Delta table, and the sizes of its data files in bytes."""
    version, files = _open(path)
    with translate_read_errors():
        found = files.filesystem.get_file_info([each.path for each in files.get_fragments()])
    return str(version), [each.size or 0 for each in found]


def _open(path: Path, version: str = "") -> "tuple[int, dataset.FileSystemDataset]":
    """Open a version of a Delta table (default: the latest); return its number and data files."""
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 (an optional requirement)
        from deltalake.exceptions import DeltaError  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingReaderError.of_delta() from None
    with translate_read_errors(DeltaError):
        table = DeltaTable(path, version=int(version) if version else None)
        return table.version(), table.to_pyarrow_dataset()


def _batches(files: "dataset.Dataset", columns: Collection[Column]) -> Batches:
    paths = readable_paths(columns)
    fields = top_level_fields(files.schema, paths)
    with translate_read_errors():
        for batch in files.to_batches(columns=fields, use_threads=False):
            yield flatten(batch, paths)
