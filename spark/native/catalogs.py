"""List the tables of Spark catalogs, and find their files, so that one task can read many tables.

Spark reads a table of its catalog in a job of its own. If the table is a folder of Parquet or ORC
files on this machine and nothing else, its files hold the same rows, and are read like others. All
doubtful tables are left to Spark's own readers: views, tables with a format of their own, or whose
columns differ from those of the files.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 (everyone's name for it)

from datahub_hyperjoin.locations import CatalogFiles, Folder, ListedFile
from datahub_hyperjoin.spark.databases.listing import ListedRelation
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.spark.files.folder import partition_keys
from datahub_hyperjoin.spark.files.formats import FileFormat
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.spark.native.frames import quoted, spark_error_text, stored_format
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS


def list_catalog(
    session: SparkSession,
    catalog: str,
    connection: str,
    *,
    wanted: Callable[[str], bool],
    views: bool,
) -> list[ListedRelation]:
    """List the tables and views of a Spark catalog."""
    try:
        schemas = session.sql(f"SHOW NAMESPACES IN {quoted([catalog])}").collect()
        return sorted(
            ListedRelation(schema, name, 0)  # Spark reports no sizes
            for (schema,) in schemas
            if wanted(schema)
            for name in _relation_names(session, quoted([catalog, schema]), views=views)
        )
    except SPARK_ERRORS as error:
        raise UnreachableSourceError.of_catalog(connection, spark_error_text(error)) from error


def _relation_names(session: SparkSession, schema: str, *, views: bool) -> set[str]:
    tables = _names(session, f"SHOW TABLES IN {schema}", "tableName")
    try:
        view_names = _names(session, f"SHOW VIEWS IN {schema}", "viewName")
    except SPARK_ERRORS:
        return tables  # The catalog does not support views.
    # Some catalogs list views among their tables, others do not.
    return tables | view_names if views else tables - view_names


def _names(session: SparkSession, statement: str, field: str) -> set[str]:
    return {row[field] for row in session.sql(statement).collect() if not row["isTemporary"]}


_CATALOG = "spark_catalog"
"""The only catalog in which the files of a table are known to contain exactly its rows."""
_SETTINGS = ("spark.sql.extensions", f"spark.sql.catalog.{_CATALOG}")
"""Spark settings that add code, which may filter rows or hide columns when a table is read."""
_BUILTIN = "builtin"
_CONCURRENT_TABLES = 4
_STORED = {"MANAGED", "EXTERNAL"}
_HARMLESS = {"serialization.format", "compression", "path"}
_ARROW_TYPES: Mapping[type[T.DataType], pa.DataType] = {
    T.StringType: pa.string(),
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
    T.BinaryType: pa.binary(),
    # Values of other lists and of maps are not read, so those of any type will do.
    **dict.fromkeys((T.ArrayType, T.MapType), pa.list_(pa.null())),
}
"""The Arrow type of each Spark type. The arguments of PySpark's own function for this conversion
differ between versions."""
_NAME = re.compile(r"`((?:[^`]|``)*)`")
_OPTION = re.compile(r"([^\s,=\[]+)=")


@dataclass(frozen=True, slots=True)
class LocatedTable:
    """The files of a table in a Spark catalog, with their sizes and modification times."""

    files: CatalogFiles
    listed: Sequence[ListedFile]


def locate_files(
    session: SparkSession, catalog: str, relations: Collection[ListedRelation]
) -> dict[ListedRelation, LocatedTable]:
    """In a Spark catalog, find the files of the tables that can be read without Spark."""
    if catalog != _CATALOG or not all(_is_builtin(session, name) for name in _SETTINGS):
        return {}
    described = {
        schema: _describe(session, schema) for schema in {each.schema for each in relations}
    }
    facts = {each: described[each.schema].get(each.name, {}) for each in relations}
    chosen = [each for each in relations if _format(facts[each])]

    def locate(relation: ListedRelation) -> LocatedTable | None:
        try:
            frame = session.table(quoted([catalog, relation.schema, relation.name]))
            return _locate(frame, facts[relation])
        # It was dropped or changed since it was listed: reading it says so.
        except (*SPARK_ERRORS, OSError):
            return None

    # Spark takes milliseconds to look up a table, most of which it waits for its metastore.
    with ThreadPoolExecutor(_CONCURRENT_TABLES) as pool:
        located = zip(chosen, pool.map(locate, chosen), strict=True)
        return {relation: found for relation, found in located if found}


def _is_builtin(session: SparkSession, setting: str) -> bool:
    return session.conf.get(setting, _BUILTIN) in {"", _BUILTIN}


def _describe(session: SparkSession, schema: str) -> dict[str, dict[str, str]]:
    """Return Spark's description of each table of a schema, by table name."""
    statement = f"SHOW TABLE EXTENDED IN {quoted([_CATALOG, schema])} LIKE '*'"
    try:
        rows = session.sql(statement).collect()
    except SPARK_ERRORS:
        return {}
    return {row["tableName"]: _facts(row["information"]) for row in rows if not row["isTemporary"]}


def _facts(information: str) -> dict[str, str]:
    r"""Parse lines such as `Type: VIEW` in Spark's description of a table.

    A key that occurs twice is left out: a comment may contain lines of the same form.

    >>> _facts("Table: a\nType: MANAGED\nComment: x\nType: VIEW\nSchema: root\n |-- Type: int")
    {'Table': 'a', 'Comment': 'x'}
    """
    lines = information.partition("\nSchema: root")[0].splitlines()
    facts = [line.partition(": ") for line in lines]
    times = Counter(key for key, *_ in facts)
    return {key: value for key, _, value in facts if times[key] == 1}


def _format(facts: Mapping[str, str]) -> FileFormat | None:
    """Return the format of a table's files, or None if only Spark should read the table."""
    location = facts.get("Location", "")
    options = {*_OPTION.findall(facts.get("Storage Properties", ""))}
    is_plain = facts.get("Type") in _STORED and options <= _HARMLESS
    if not is_plain or not location.startswith("file:"):
        return None
    return stored_format(facts)


def _locate(frame: DataFrame, facts: Mapping[str, str]) -> LocatedTable | None:
    format_ = _format(facts)
    keys = [name.replace("``", "`") for name in _NAME.findall(facts.get("Partition Columns", ""))]
    # Partition columns come last.
    first = len(frame.schema.fields) - len(keys)
    fields, of_partitions = frame.schema.fields[:first], frame.schema.fields[first:]
    schema = _arrow_schema(fields, format_) if format_ else None
    if format_ is None or schema is None:
        return None
    # Spark writes this path as it is, not percent-encoded.
    root = Path(re.sub(r"^file:(//)?(?=/)", "", facts["Location"]))
    # Only the catalog knows which folders are partitions, and they may be anywhere.
    paths = [*map(local_path, frame.inputFiles())] if keys else _visible_files(root)
    parts = [path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root)]
    is_whole = len(parts) == len(paths) > 0
    if not is_whole or not all(_has_values(part, of_partitions) for part in parts):
        return None
    folder = Folder(uri=str(root), format=format_.name, parts=tuple(parts))
    files = CatalogFiles(folder=folder, schema=schema.serialize().to_pybytes())
    return LocatedTable(files, [*map(_listed, paths, parts)])


def _arrow_schema(fields: Sequence[T.StructField], format_: FileFormat) -> pa.Schema | None:
    """Convert Spark columns to an Arrow schema; return None if Arrow might read other values."""
    # Arrow might read other values than Spark: Spark pads `char` columns, and fills a new column
    # with its default. Times in ORC files depend on the time zone of the reader.
    metadata = repr([field.metadata for field in fields]).replace("varchar(", "")
    if "char(" in metadata or "EXISTS_DEFAULT" in metadata:
        return None
    try:
        schema = pa.schema([(field.name, _arrow_type(field.dataType)) for field in fields])
    except KeyError:
        return None
    has_times = "timestamp[" in str(schema)
    return None if not fields or (has_times and format_.spark_reads_other_times) else schema


def _arrow_type(type_: T.DataType) -> pa.DataType:
    match type_:
        case T.StructType():
            return pa.struct([(field.name, _arrow_type(field.dataType)) for field in type_.fields])
        case T.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case T.ArrayType(elementType=T.StringType() | T.IntegralType() as element):
            return pa.list_(_arrow_type(element))
        case _:
            return _ARROW_TYPES[type(type_)]


def _visible_files(root: Path) -> list[Path]:
    """List the files of a table without partitions, except hidden files."""
    # If the table's folder has visible subfolders, the list is empty.
    visible = [path for path in root.iterdir() if not path.name.startswith(".")]
    # Spark's streams keep a list there of the files that count.
    if any(path.is_dir() for path in visible):
        return []
    return sorted(path for path in visible if not path.name.startswith("_"))


def _has_values(part: str, fields: Sequence[T.StructField]) -> bool:
    """Return whether a file's path contains all partition values exactly as Spark returns them.

    >>> year = T.StructField("year", T.IntegerType())
    >>> [_has_values(f"{at}0.parquet", [year]) for at in ("year=2024/", "year=02/", "", "x/")]
    [True, False, False, False]
    """
    keys = partition_keys(part)
    if part.count("/") != len(fields) or [*keys] != [field.name for field in fields]:
        return False
    values = zip(keys.values(), fields, strict=True)
    return all(value is None or _is_canonical(value, field.dataType) for value, field in values)


def _is_canonical(value: str, type_: T.DataType) -> bool:
    """Return whether Spark would return a partition value unchanged."""
    with suppress(ValueError):
        match type_:
            case T.StringType():
                return True
            case T.IntegralType():
                return str(int(value)) == value
            case T.DateType():
                return date.fromisoformat(value).isoformat() == value
            case _:
                pass
    return False


def _listed(path: Path, part: str) -> ListedFile:
    status = path.stat()
    return ListedFile(str(path), part, status.st_size, status.st_mtime_ns)
