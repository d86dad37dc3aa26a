"""Keep the values of tables that were verified, so that later runs verify without reading them.

If three tables change, their columns are compared again with columns of nearly all tables. Of an
unchanged table, the hashes of its distinct values and the rows of each are all that this needs.
They take a fraction of the table's size, and less time to load than the table to read.

A table has one file, named by its key in the store. It is replaced as a whole, and ends in a
checksum. If it is damaged or lacks a column, the table is read.
"""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.errors import StoredFileError
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.sketch import DistinctValues
from datahub_hyperjoin.spark.profiles.store import log_damaged
from datahub_hyperjoin.spark.profiles.store_keys import table_key
from datahub_hyperjoin.spark.verification.tuples import ColumnTuple
from datahub_hyperjoin.storage import read_checked, replace_with_checksum
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.value_forms import Notation
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

TableValues = dict[str, DistinctValues]
"""The distinct values of columns and column tuples of a table, by a name that also tells how they
were read (`name_of_column` and `name_of_tuple`)."""

_FOLDER = "values"
_MOST_BYTES = 1 << 32
"""Maximum size of all files, in bytes."""
_FEW_BYTES = 1 << 16
"""Size up to which the values of any table are kept; more only if they are smaller than the
table."""
_ROW = pa.schema(
    {
        "name": pa.string(),
        "hashes": pa.large_binary(),
        "counts": pa.large_binary(),
        "count_type": pa.string(),
    }
)
_SIZES = b"sizes"
"""Metadata of a file: the number of values by name, which is known before any value is loaded."""


def name_of_column(path: str, kind: str) -> str:
    """Name the values of a column.

    Args:
        kind: The notation in which its values are read; empty for values as written. The name of
            an entity kind stands for values as written, which are translated later.
    """
    return json.dumps([path, kind if isinstance(kind, Notation) else ""])


def name_of_tuple(columns: ColumnTuple, texts: Collection[str]) -> str:
    """Name the values of a column tuple.

    Args:
        texts: Paths of the columns of text, in which words such as `NA` are values.
    """
    return json.dumps([columns.paths, columns.shuffled, sorted({*columns.paths} & {*texts})])


def value_files(config: ProfileConfig, tables: Sequence[Table]) -> dict[TableId, Path]:
    """Name the file of each table whose values are kept, or may be kept from now on.

    Args:
        config: The folder of the store, and whether values may stay on disk.

    Returns:
        Files by table. Tables of an unknown state have none, nor do the largest tables if the
        files of all would take too much space.
    """
    if config.store is None or not config.keep_values:
        return {}
    files: dict[TableId, Path] = {}
    folder = config.store / _FOLDER
    left = _MOST_BYTES - sum(file.stat().st_size for file in folder.glob("*"))
    for table in sorted(tables, key=lambda each: each.size):
        file = folder / table_key(table)
        if not file.exists():
            left -= max(table.size, _FEW_BYTES)
        if table.state and (left > 0 or file.exists()):
            files[table.id] = file
    return files


def prune_value_files(config: ProfileConfig, tables: Sequence[Table]) -> None:
    """Create the folder of the values, and delete those of tables that have changed or are gone.

    Args:
        config: The folder of the store, and whether kept values may be used.
    """
    if config.store is None:
        return
    folder = config.store / _FOLDER
    keep = config.keep_values and not config.force
    wanted = {table_key(table) for table in tables if table.state and keep}
    try:
        # Without the folder, as on other machines than this, workers keep nothing.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in folder.iterdir():
            if file.name not in wanted:
                file.unlink()
    except OSError as error:
        logger.warning("Cannot store results for the next run in %s: %s", folder, error)


def kept_bytes(file: Path | None, names: Collection[str]) -> int | None:
    """Return the number of bytes to load from a file instead of reading its table.

    Args:
        file: The file; None if no values are kept.

    Returns:
        The number of bytes; None if the table must be read.
    """
    if file is None or not file.exists():
        return None
    try:
        with pa.memory_map(str(file)) as content:
            sizes = json.loads(pa.ipc.open_stream(content).schema.metadata[_SIZES])
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
        return None  # damaged, which is reported when it is loaded
    needed = [sizes.get(name) for name in names]
    return None if None in needed else 2 * np.uint64().itemsize * sum(needed)


def load_values(file: Path | None) -> TableValues:
    """Load the values that earlier runs kept of a table.

    Args:
        file: The file; None if no values are kept.

    Returns:
        The values; none if there is no file, or if it is damaged.
    """
    if file is None or not file.exists():
        return {}
    try:
        rows = pa.ipc.open_stream(pa.py_buffer(read_checked(file))).read_all()
        return {name: _values(rows, at) for at, name in enumerate(rows["name"].to_pylist())}
    except (StoredFileError, pa.ArrowException, OSError, KeyError) as error:
        log_damaged(file, str(error))
        return {}


def keep_values(file: Path | None, values: TableValues, *, size: int) -> None:
    """Keep the values of a table for later runs.

    Args:
        size: Size of the table in bytes. If its hashes take more space, they are not kept.
    """
    taken = sum(each.hashes.nbytes for each in values.values())
    if file is None or taken > max(size, _FEW_BYTES):
        return
    narrow = [each.counts.astype(_count_type(each)) for each in values.values()]
    rows = {
        "name": [*values],
        "hashes": [each.hashes.astype("<u8").tobytes() for each in values.values()],
        "counts": [counts.tobytes() for counts in narrow],
        "count_type": [counts.dtype.str for counts in narrow],
    }
    sizes = json.dumps({name: len(each) for name, each in values.items()})
    batch = pa.RecordBatch.from_pydict(rows, _ROW.with_metadata({_SIZES: sizes}))
    try:
        if not file.parent.is_dir():
            return  # on another machine than the driver
        content = pa.BufferOutputStream()
        with pa.ipc.new_stream(content, batch.schema) as stream:
            stream.write_batch(batch)
        replace_with_checksum(file, memoryview(content.getvalue()))
    except (StoredFileError, pa.ArrowException, OSError) as error:
        logger.warning("Cannot store results for the next run in %s: %s", file, error)


def _count_type(values: DistinctValues) -> np.dtype[Any]:
    """Return the narrowest type for the counts: most values of a key occur once."""
    return np.min_scalar_type(int(values.counts.max(initial=0)))


def _values(rows: pa.Table, at: int) -> DistinctValues:
    hashes = np.frombuffer(rows["hashes"][at].as_buffer(), "<u8")
    counts = np.frombuffer(rows["counts"][at].as_buffer(), rows["count_type"][at].as_py())
    # Without texts, as after reading: they would take most of the memory.
    return DistinctValues(hashes, counts.astype(np.int64), pa.nulls(len(hashes)))
