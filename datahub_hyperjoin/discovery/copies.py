"""Copy data frames, DuckDB tables and the rows of views to files, from which the run reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from datahub_hyperjoin.discovery.errors import UnusableSourceError
from datahub_hyperjoin.locations import VIEW_SECONDS, File, Relation, ViewCopy
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnreadableRelationError
from datahub_hyperjoin.spark.files.header import ROW_NAME
from datahub_hyperjoin.spark.profiles.local_batch import fault_text, naming_slow_view
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.wording import name_some

if TYPE_CHECKING:
    import pandas as pd

    from datahub_hyperjoin.discovery.progress import RunProgress

_REMEDY = ", or leave it out with `--exclude` (`exclude` in Python)"


def keep_all(_name: str) -> bool:
    """Keep the table of any name."""
    return True


def copy_frames(
    frames: Mapping[str, object],
    folder: Path,
    *,
    prefix: str,
    warn: Warn,
    keeps: Callable[[str], bool] = keep_all,
) -> list[Table]:
    """Copy data frames to Parquet files.

    Args:
        frames: Frames of pandas, Polars, Arrow or Spark by their names; or any object that exports
            its rows through Arrow's C stream.
        warn: Receives each frame that cannot be copied, with the reason.
        keeps: Tells whether to copy the frame of a name.
    """
    kept = {
        name: frame
        for name, frame in frames.items()
        if keeps(".".join(filter(None, (prefix, name))))
    }
    copied = (_copy_frame(name, frame, folder, prefix, warn) for name, frame in kept.items())
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


def copy_duckdb(
    file: Path,
    folder: Path,
    *,
    prefix: str,
    progress: "RunProgress",
    keeps: Callable[[str], bool] = keep_all,
) -> list[Table]:
    """Copy the tables and views of a DuckDB file to Parquet files.

    Args:
        file: The file, which is opened for reading only.
        progress: Receives each table or view that cannot be read, with the reason, and the name of
            each view that is not read at once.
        keeps: Tells whether to copy the table of a name.

    Returns:
        Tables, named as in DuckDB; those of the schema `main` without the schema.
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
            "SELECT table_schema, table_name, table_type = 'VIEW' FROM information_schema.tables "
            "WHERE table_catalog = current_database() ORDER BY ALL"
        ).fetchall()
        for schema, name, is_view in listed:
            quoted = ".".join('"{}"'.format(part.replace('"', '""')) for part in (schema, name))
            parts = [name] if schema == "main" else [schema, name]
            if not keeps(".".join(filter(None, [prefix, *parts]))):
                continue
            end = connection.interrupt if is_view else None
            try:
                with naming_slow_view(".".join(parts), progress.say, end=end):
                    rows = pa.RecordBatchReader.from_stream(connection.sql(f"FROM {quoted}"))
                    names = [prefix, *parts]
                    tables.append(_write(rows, names, folder, "duckdb", progress.warn))
            except (duckdb.Error, pa.ArrowException) as error:
                progress.warn(
                    "Table skipped",
                    "Correct the view, or convert its columns to other types",
                    f"{'.'.join(parts)}: {_reason(error)}{_REMEDY if is_view else ''}",
                )
    return tables


def _reason(error: Exception) -> str:
    """Return why a table of DuckDB was not copied, without a message that may contain values."""
    is_late = "INTERRUPT" in str(error)
    return str(UnreadableRelationError.too_slow(VIEW_SECONDS)) if is_late else type(error).__name__


def copy_views(tables: Sequence[Table], folder: Path, say: Callable[[str], None]) -> list[Table]:
    """Read each view of a database once, for all stages of the run.

    Args:
        say: Receives the name of each view that is not read at once.

    Returns:
        The tables. Those that are views are read from their copies; one that cannot be read has a
        fault in place of a copy.
    """
    with Databases() as databases:
        return [_copy_view(table, folder, databases, say) for table in tables]


def _copy_view(
    table: Table, folder: Path, databases: Databases, say: Callable[[str], None]
) -> Table:
    view = table.location
    if not isinstance(view, Relation) or not view.is_view:
        return table
    # SQLAlchemy takes a quarter of a second to import; lakes of files need none.
    from datahub_hyperjoin.spark.databases.relations import write_copy  # noqa: PLC0415

    file = folder / f"{uuid4().hex}.arrow"
    file.touch(mode=0o600)
    try:
        with naming_slow_view(str(table.id), say):
            write_copy(view, databases.engine(view), file)
        copy = ViewCopy(file=str(file))
    except Exception as error:  # noqa: BLE001 (the guard that keeps one view from ending the run)
        file.unlink()
        copy = ViewCopy(fault=fault_text(error) + _REMEDY)
    return replace(table, location=replace(view, copy=copy))


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
        location=File(uri=str(path), format="parquet", copy_of=tuple(names[1:])),
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
