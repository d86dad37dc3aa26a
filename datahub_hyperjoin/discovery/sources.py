"""List the tables of folders, databases and data frames.

Data frames, DuckDB tables and the rows of views are copied to files, from which the run reads.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import SecretStr

from datahub_hyperjoin.catalog.databases import is_duckdb, is_sqlite
from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.catalog.folders import scan_folder, scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import EveryName, TableSelection, naming_of
from datahub_hyperjoin.discovery.errors import UnusableSourceError
from datahub_hyperjoin.locations import (
    VIEW_SECONDS,
    Database,
    File,
    ObjectStore,
    Relation,
    ViewCopy,
    check_store_uri,
    is_in_store,
)
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.columns import column_names, numbered_names
from datahub_hyperjoin.spark.errors import UnreadableRelationError
from datahub_hyperjoin.spark.files.formats import usual_endings
from datahub_hyperjoin.spark.files.header import ROW_NAME
from datahub_hyperjoin.spark.profiles.local_batch import fault_text, naming_slow_view
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.wording import name_some

if TYPE_CHECKING:
    import pandas as pd
    from sqlalchemy import URL

    from datahub_hyperjoin.discovery.progress import RunProgress
    from datahub_hyperjoin.spark.databases.engines import Databases

_UNLIKE_ARROW = {"Int128", "UInt128", "Object"}
"""Types of Polars that Arrow lacks."""

AS_DETECTED = TableSelection(platform="file", env="PROD")
"""The rules that select the tables of a folder if nothing is said of its files."""

_REMEDY = ", or leave it out with `--exclude` (`exclude` in Python)"


def copy_frames(
    frames: Mapping[str, object],
    folder: Path,
    *,
    prefix: str,
    warn: Warn,
    keeps: Callable[[str], bool],
) -> list[Table]:
    """Copy data frames, or what else exports its rows to Arrow, to Parquet files."""
    tables = []
    for key, frame in frames.items():
        name = str(key)
        if not keeps(".".join(filter(None, (prefix, name)))):
            continue
        try:
            rows = _as_arrow(name, frame).to_reader()
            tables.append(_write(rows, [prefix, name], folder, "dataframe", warn))
        except pa.ArrowException as error:
            # The message may contain values.
            warn(
                "Table skipped",
                "Convert its columns to numbers, text or dates",
                f"{name}: Arrow cannot hold its columns ({type(error).__name__})",
            )
    return tables


def copy_duckdb(
    file: Path,
    folder: Path,
    *,
    prefix: str,
    progress: "RunProgress",
    keeps: Callable[[str], bool],
) -> list[Table]:
    """Copy the tables and views of a DuckDB file to Parquet files.

    They are named as in DuckDB; those of the schema `main` without the schema.
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

    A view that cannot be read has a fault in place of a copy. `say` receives the name of each view
    that is not read at once.
    """
    if not any(isinstance(each.location, Relation) and each.location.is_view for each in tables):
        return [*tables]
    # Lakes of files need no database.
    from datahub_hyperjoin.spark.databases.engines import Databases  # noqa: PLC0415

    with Databases() as databases:
        return [_copy_view(table, folder, databases, say) for table in tables]


def _copy_view(
    table: Table, folder: Path, databases: "Databases", say: Callable[[str], None]
) -> Table:
    view = table.location
    if not isinstance(view, Relation) or not view.is_view:
        return table
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
    """Write rows to a new Parquet file; the first name is the source's prefix, often empty."""
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
    """Return whether Parquet has the type of a column; it has no intervals, for example."""
    try:
        pq.write_table(pa.schema([field]).empty_table(), pa.BufferOutputStream())
    except pa.ArrowException:
        return False
    return True


def _as_arrow(name: str, frame: object) -> pa.Table:
    """Convert a data frame to an Arrow table."""
    if isinstance(frame, pa.Table):
        rows = frame
    elif _library(frame) == "pandas" and hasattr(frame, "iloc") and hasattr(frame, "columns"):
        rows = _from_pandas(cast("pd.DataFrame", frame))
    else:
        # A lazy frame of Polars first computes its rows; Spark's has `toArrow` besides.
        if _library(frame) == "polars" and hasattr(frame, "with_columns"):
            rows = getattr(frame, "collect", lambda: frame)()
            frame = _with_arrow_types(rows)
        convert = getattr(frame, "to_arrow", None) or getattr(frame, "toArrow", None)
        if convert is None and not hasattr(frame, "__arrow_c_stream__"):
            raise UnusableSourceError.other_frame(name, type(frame).__name__)
        rows = convert() if convert else pa.table(frame)
        # A single column of Polars is an array.
        if not hasattr(rows, "rename_columns"):
            raise UnusableSourceError.other_frame(name, type(frame).__name__)
    return rows.rename_columns(column_names(rows.column_names))


def _library(frame: object) -> str:
    return type(frame).__module__.partition(".")[0]


def _from_pandas(frame: "pd.DataFrame") -> pa.Table:
    """Convert a pandas data frame; its index becomes columns, unless it only numbers the rows."""
    import pandas as pd  # noqa: PLC0415 (whoever passes such a frame has it)

    index = frame.index
    levels = [] if isinstance(index, pd.RangeIndex) else [*range(index.nlevels)]
    columns = [
        *((index.names[at] or ROW_NAME, index.get_level_values(at)) for at in levels),
        *((name, frame.iloc[:, at]) for at, name in enumerate(frame.columns)),
    ]
    arrays = [_array_of(pd.Series(values)) for _, values in columns]
    return pa.Table.from_arrays(arrays, ["" if name is None else str(name) for name, _ in columns])


def _array_of(values: "pd.Series[Any]") -> pa.Array | pa.ChunkedArray:
    """Convert a column; one of mixed types, or of integers beyond 64 bits, becomes text."""
    import pandas as pd  # noqa: PLC0415 (as above)

    if isinstance(values.dtype, pd.SparseDtype):
        values = pd.Series(values.to_numpy())
    # Arrow would hold the numbers of periods, and Parquet no categories that are intervals.
    kind = values.dtype.categories.dtype if hasattr(values.dtype, "categories") else values.dtype
    if not isinstance(kind, pd.PeriodDtype | pd.IntervalDtype):
        with suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
            return pa.array(values, from_pandas=True)
    return pa.array(values.map(_text, na_action="ignore"), pa.string(), from_pandas=True)


def _text(value: object) -> str:
    # Half a surrogate pair has no UTF-8.
    return str(value).encode("utf-8", "replace").decode()


def _with_arrow_types(frame: Any) -> Any:  # noqa: ANN401 (this package does not need Polars)
    """Write the values of a Polars frame as text that Arrow has no type for."""
    polars = import_module("polars")  # whoever passes such a frame has it
    return frame.with_columns(
        polars.Series(
            name, [None if value is None else str(value) for value in frame[name]], polars.String
        )
        for name, type_ in frame.schema.items()
        if str(type_) in _UNLIKE_ARROW
    )


class Exclusion:
    """The tables that a search leaves out.

    The patterns are names, or endings of names after a dot or slash, with `*`, `?` and `[abc]`.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = tuple(patterns)
        self.unused = dict.fromkeys(self._patterns)
        """The patterns that no table has fitted yet."""
        self.left_out = 0

    def keeps(self, name: str) -> bool:
        """Return whether a table is searched.

        Examples:
            >>> exclusion = Exclusion(["audit_*", "public.log"])
            >>> [exclusion.keeps(name) for name in ("public.audit_2024", "public.log", "log")]
            [False, False, True]
        """
        names = [*_endings(name)]
        fitting = [
            each for each in self._patterns if any(fnmatchcase(name, each) for name in names)
        ]
        for each in fitting:
            self.unused.pop(each, None)
        self.left_out += bool(fitting)
        return not fitting


@dataclass(frozen=True)
class _Kept(EveryName):
    """Allows the files that are not excluded, before several of them become one table."""

    keeps: Callable[[str], bool] = field(kw_only=True)

    def allowed(self, name: str, /) -> bool:
        """Return whether a file is searched."""
        return self.keeps(name)


def _endings(name: str) -> Iterator[str]:
    yield name
    yield from (name[at + 1 :] for at, sign in enumerate(name) if sign in "./")


Source = str | Path | Mapping[str, object]
"""A folder, a database's file or URL, or a dict of data frames."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """The name of a source, and a function that lists the source's tables."""

    name: str
    """The prefix of the names of the source's tables, if there are several sources."""
    label: str
    """The name of the source in messages."""
    list_tables: Callable[[str], list[Table]]
    """Lists the tables; receives the prefix, which is empty for a single source."""
    kinds: Callable[[], str]
    """Returns the advice at the end of the message about a source without tables."""


def list_sources(
    sources: Sequence[Source],
    copies: Path,
    progress: "RunProgress",
    exclude: Iterable[str] = (),
    files: TableSelection = AS_DETECTED,
) -> list[Table]:
    """List the tables of all sources; data frames and DuckDB's tables are first copied to `copies`.

    `files` says how the files of folders are read. If there are several sources, the names of
    tables begin with that of their source.
    """
    exclusion = Exclusion(exclude)
    if exclusion.unused:
        files = replace(files, tables=_Kept(keeps=exclusion.keeps))
    listings = [_open(source, copies, progress, exclusion.keeps, files) for source in sources]
    if not listings:
        raise UnusableSourceError.without_any()
    names = [listing.name for listing in listings]
    prefixes = numbered_names(names, "-") if len(names) > 1 else [""]
    tables = [
        replace(table, chosen_by="")  # there is no recipe that could exclude it
        for listing, prefix in zip(listings, prefixes, strict=True)
        for table in _list(listing, prefix, exclusion)
    ]
    for pattern in exclusion.unused:
        progress.warn("Nothing excluded", "Correct the pattern", f"no table fits {pattern!r}")
    return tables


def _list(listing: _Listing, prefix: str, exclusion: Exclusion) -> list[Table]:
    before = exclusion.left_out
    try:
        tables = listing.list_tables(prefix)
    except NoTablesError:
        tables = []
    kept = [table for table in tables if exclusion.keeps(str(table.id))]
    if not kept and exclusion.left_out > before:
        raise UnusableSourceError.without_kept_tables(listing.label)
    if not kept:
        raise UnusableSourceError.without_tables(listing.label, kinds=listing.kinds())
    return kept


def _open(
    source: Source,
    copies: Path,
    progress: "RunProgress",
    keeps: Callable[[str], bool],
    files: TableSelection,
) -> _Listing:
    if isinstance(source, Mapping):
        return _Listing(
            "frames",
            "the dict of data frames",
            lambda prefix: copy_frames(
                source, copies, prefix=prefix, warn=progress.warn, keeps=keeps
            ),
            lambda: "Pass at least one frame with rows",
        )
    if isinstance(source, str) and "://" in source:
        return _open_store(source, progress, files) if is_in_store(source) else _open_url(source)
    if not isinstance(source, str | Path):
        raise UnusableSourceError.other_value(source)
    return _open_path(Path(source).expanduser(), copies, progress, keeps, files)


def _open_path(
    path: Path,
    copies: Path,
    progress: "RunProgress",
    keeps: Callable[[str], bool],
    files: TableSelection,
) -> _Listing:
    if path.is_dir():
        return _Listing(
            path.resolve().name,
            str(path),
            lambda prefix: scan_folder(
                path, _named(files, prefix, "/"), warn=progress.warn, count=progress.count
            ),
            lambda: f"Table files end in {usual_endings('.sqlite', '.duckdb')}",
        )
    if not path.is_file():
        raise UnusableSourceError.missing(str(path))
    if is_sqlite(path):
        from sqlalchemy import URL  # noqa: PLC0415 (lakes of files need no database)

        return _open_database(URL.create("sqlite", database=str(path.resolve())), str(path))
    if is_duckdb(path):
        return _Listing(
            path.stem,
            str(path),
            lambda prefix: copy_duckdb(path, copies, prefix=prefix, progress=progress, keeps=keeps),
            lambda: "Name another file",
        )
    raise UnusableSourceError.other_file(str(path))


def _named(files: TableSelection, prefix: str, separator: str) -> TableSelection:
    # Braces in the prefix would be placeholders.
    begin = f"{prefix}{separator}".replace("{", "{{").replace("}", "}}") if prefix else ""
    return replace(files, names=begin + "{table}")


def _open_store(uri: str, progress: "RunProgress", files: TableSelection) -> _Listing:
    try:
        check_store_uri(uri)
    except ValueError as error:
        raise UnusableSourceError.other_store(str(error)) from None
    return _Listing(
        PurePosixPath(uri).name,
        uri,
        lambda prefix: scan_stored_folder(
            uri,
            uri,
            ObjectStore.of_environment(),
            _named(files, prefix, "/"),
            warn=progress.warn,
            count=progress.count,
        ),
        lambda: f"Table files end in {usual_endings()}",
    )


def _open_url(text: str) -> _Listing:
    from sqlalchemy import make_url  # noqa: PLC0415 (as above)
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    from datahub_hyperjoin.spark.databases.system import system_named  # noqa: PLC0415

    scheme, _, rest = text.partition("://")
    name, _, driver = scheme.partition("+")
    system = system_named(name)
    try:
        url = make_url(
            f"{f'{system.name}+{driver}' if driver else system.scheme or system.name}://{rest}"
        )
    except (ArgumentError, ValueError):
        raise UnusableSourceError.malformed_url(scheme) from None
    if not system.names_without_recipe:
        raise UnusableSourceError.other_url(name)
    if system.is_file and not Path(url.database or "").is_file():
        raise UnusableSourceError.missing(url.database or "")
    return _open_database(url, url.render_as_string(hide_password=True))


def _open_database(url: "URL", label: str) -> _Listing:
    from datahub_hyperjoin.catalog.databases import scan_database  # noqa: PLC0415 (as above)
    from datahub_hyperjoin.spark.databases.system import system_named  # noqa: PLC0415

    database = Database(url=SecretStr(url.render_as_string(hide_password=False)))
    system = system_named(url.get_backend_name())

    def scan(prefix: str) -> list[Table]:
        begin = _named(AS_DETECTED, prefix, ".").names.removesuffix("{table}")
        selection = TableSelection(
            platform=naming_of(database)[0], env="PROD", names=begin + system.names_without_recipe
        )
        return scan_database(label, database, selection)

    name = Path(url.database or "").stem if system.is_file else url.database
    return _Listing(name or "database", label, scan, lambda: "Name another database")
