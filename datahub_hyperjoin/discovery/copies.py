"""Copy data frames and DuckDB tables to Parquet files, from which the run reads."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from datahub_hyperjoin.discovery.errors import UnusableSourceError
from datahub_hyperjoin.file_formats import FileFormat
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.files.header import ROW_NAME
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.wording import name_some

if TYPE_CHECKING:
    import pandas as pd


def copy_frames(
    frames: Mapping[str, object], folder: Path, *, prefix: str, warn: Warn
) -> list[Table]:
    """Copy data frames to Parquet files.

    Args:
        frames: Frames of pandas, Polars, Arrow or Spark by their names; or any object that exports
            its rows through Arrow's C stream.
        folder: A private folder for the files.
        prefix: What comes before the names of the tables.
        warn: Receives each frame that cannot be copied, with the reason.

    Returns:
        One table per frame, with the frame's name.

    Raises:
        UnusableSourceError: A value is no data frame.
    """
    copied = (_copy_frame(name, frame, folder, prefix, warn) for name, frame in frames.items())
    return [table for table in copied if table]


def _copy_frame(name: str, frame: object, folder: Path, prefix: str, warn: Warn) -> Table | None:
    try:
        rows = _as_arrow(name, frame).to_reader()
        return _write(rows, [prefix, name], folder, "dataframe", warn)
    except pa.ArrowException as error:
        # The message may contain values.
        warn(
            "Table skipped",
            "Convert its columns to numbers, text or dates",
            f"{name}: Arrow cannot hold its columns ({type(error).__name__})",
        )
        return None


def copy_duckdb(file: Path, folder: Path, *, prefix: str, warn: Warn) -> list[Table]:
    """Copy the tables and views of a DuckDB file to Parquet files.

    Args:
        file: The file, which is opened for reading only.
        folder: A private folder for the copies.
        prefix: What comes before the names of the tables.
        warn: Receives each table or view that cannot be read, with the reason.

    Returns:
        Tables, named as in DuckDB; those of the schema `main` without the schema.

    Raises:
        UnusableSourceError: DuckDB cannot open the file.
    """
    import duckdb  # noqa: PLC0415 (few lakes have such files)

    try:
        connection = duckdb.connect(str(file), read_only=True)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise UnusableSourceError.locked(str(file), reason) from None
    tables = []
    with connection:
        listed = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = current_database() ORDER BY ALL"
        ).fetchall()
        for schema, name in listed:
            quoted = ".".join('"{}"'.format(part.replace('"', '""')) for part in (schema, name))
            parts = [name] if schema == "main" else [schema, name]
            try:
                rows = pa.RecordBatchReader.from_stream(connection.sql(f"FROM {quoted}"))
                tables.append(_write(rows, [prefix, *parts], folder, "duckdb", warn))
            except (duckdb.Error, pa.ArrowException) as error:
                warn(
                    "Table skipped",
                    "Correct the view, or convert its columns to other types",
                    f"{'.'.join(parts)}: {type(error).__name__}",
                )
    return tables


def _write(
    rows: pa.RecordBatchReader, names: list[str], folder: Path, platform: str, warn: Warn
) -> Table:
    """Write rows to a new Parquet file, and return the file as a table.

    The first name is the prefix of the source, and may be empty.
    """
    path = folder / f"{uuid4().hex}.parquet"
    path.touch(mode=0o600)
    kept = [field.name for field in rows.schema if _fits_parquet(field)]
    if lost := [field.name for field in rows.schema if field.name not in kept]:
        warn(
            "Columns skipped",
            "Convert them to numbers, text or dates",
            f"{'.'.join(names[1:])}: Parquet has no type for {name_some(lost)}",
        )
    schema = pa.schema([rows.schema.field(name) for name in kept])
    with pq.ParquetWriter(path, schema) as writer:
        for batch in rows:
            writer.write_batch(batch.select(kept))
    return Table(
        id=TableId(platform, ".".join(filter(None, names))),
        title=names[-1],
        location=File(uri=str(path), format=FileFormat.PARQUET, copy_of=tuple(names[1:])),
        size=path.stat().st_size,
        chosen_by="",
    )


def _fits_parquet(field: pa.Field) -> bool:
    """Return whether Parquet supports the type of a column.

    Parquet has no intervals, for example. Columns of unsupported types join with nothing.
    """
    try:
        pq.write_table(pa.schema([field]).empty_table(), pa.BufferOutputStream())
    except pa.ArrowException:
        return False
    return True


def _as_arrow(name: str, frame: object) -> pa.Table:
    """Convert a data frame to an Arrow table."""
    if isinstance(frame, pa.Table):
        rows = frame
    elif _library(frame) == "pandas" and hasattr(frame, "iloc"):
        rows = _from_pandas(cast("pd.DataFrame", frame))
    else:
        # A lazy frame of Polars first computes its rows; Spark's has `toArrow` besides.
        if _library(frame) == "polars":
            frame = getattr(frame, "collect", lambda: frame)()
        convert = getattr(frame, "to_arrow", None) or getattr(frame, "toArrow", None)
        if convert is None and not hasattr(frame, "__arrow_c_stream__"):
            raise UnusableSourceError.other_frame(name, type(frame).__name__)
        rows = convert() if convert else pa.table(frame)
    return rows.rename_columns([*_distinct(rows.column_names)])


def _library(frame: object) -> str:
    return type(frame).__module__.partition(".")[0]


def _from_pandas(frame: "pd.DataFrame") -> pa.Table:
    """Convert a pandas data frame to an Arrow table.

    The index becomes columns, unless it only numbers the rows.
    """
    import pandas as pd  # noqa: PLC0415 (whoever passes such a frame has it)

    index = frame.index
    levels = [] if isinstance(index, pd.RangeIndex) else [*range(index.nlevels)]
    columns = [
        *((index.names[at] or ROW_NAME, index.get_level_values(at)) for at in levels),
        *((name, frame.iloc[:, at]) for at, name in enumerate(frame.columns)),
    ]
    arrays = [_array_of(pd.Series(values)) for _, values in columns]
    return pa.Table.from_arrays(arrays, [str(name) for name, _ in columns])


def _array_of(values: "pd.Series[Any]") -> pa.Array | pa.ChunkedArray:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # A column of mixed types, which a CSV file would hold as text.
        return pa.array(values.map(str, na_action="ignore"), pa.string(), from_pandas=True)


def _distinct(names: Sequence[str]) -> Iterator[str]:
    """Yield the given column names, made unique by appended numbers."""
    seen: set[str] = set()
    for name in names:
        free = (f"{name}_{at}" if at else name for at in count())
        chosen = next(each for each in free if each not in seen)
        seen.add(chosen)
        yield chosen
