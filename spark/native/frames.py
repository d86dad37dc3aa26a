"""Read tables through Spark's own readers.

These are tables of Spark catalogs, remote Delta tables and large files.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from pyspark.sql import types as T  # noqa: N812 (everyone's name for it)
from typing_extensions import assert_never

from datahub_hyperjoin.arrow_bytes import MOST_KEY_BYTES
from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
    TableLocation,
    is_remote,
)
from datahub_hyperjoin.spark.columns import Column, choose_selectable_columns
from datahub_hyperjoin.spark.errors import (
    LostWorkerError,
    UnreadableRelationError,
    UnreadableTableError,
)
from datahub_hyperjoin.spark.files.folder import NULL_PARTITION, partition_keys
from datahub_hyperjoin.spark.files.formats import FileFormat, format_of, format_of_provider
from datahub_hyperjoin.spark.files.parquet import (
    CONTENT_BYTES,
    VALUES_LOOKED_AT,
    Parquet,
    are_texts,
)
from datahub_hyperjoin.tables import DataType
from datahub_hyperjoin.visible import redact

_ELEMENT_TYPES = (T.StringType, T.IntegralType)
"""The types of elements of lists that are read as text, as in files."""
_TEXT_TYPES = (
    *(T.StringType, T.BooleanType, T.NumericType),
    *(T.DateType, T.TimestampType, T.TimestampNTZType),
)
"""Types that Arrow converts to text; Spark converts the others."""

_LOST_WORKER = ("Python worker exited unexpectedly", "ExecutorLostFailure")
"""Parts of Spark's error messages about a worker that crashed or was killed."""

_PATTERN_CHARACTERS = r"\*?[]{}"
_PY4J_PREFIX = "An error occurred while calling"


@dataclass(frozen=True, slots=True)
class TableFrame:
    """A table to profile, as a Spark data frame."""

    frame: DataFrame | None
    """Rows of the table or a sample of them, with the columns whose values are read; None if no
    values are read."""

    columns: tuple[Column, ...]
    notes: list[str]
    rows: int


def load_frame(session: SparkSession, location: TableLocation) -> DataFrame:
    """Load a table as a Spark data frame."""
    match location:
        case CatalogTable():
            name = quoted([location.catalog, *location.schema.split("."), location.name])
            frame = session.table(name)
            is_parquet = bool(_names_of_bytes(frame)) and _may_be_parquet(session, name)
            return _with_texts(frame) if is_parquet else frame
        case DeltaFolder():
            return session.read.format("delta").load(_spark_uri(location.uri))
        case File():
            return _load_files(session, location)
        case Folder():
            frame = _load_files(session, location)
            return _with_partition_keys(frame, partition_keys(location.parts[0]))
        case IcebergFolder() | IcebergDataFile() | Relation():
            message = f"Spark has no reader for {location}"
            raise TypeError(message)
        case _:
            assert_never(location)


def leaf_expressions(frame: DataFrame) -> tuple[list[Column], list[Expression]]:
    """List the columns of a data frame, and their Spark expressions."""
    # Each struct is replaced by its members.
    columns, expressions = [], []
    for position, (names, type_) in enumerate(_leaves(frame.schema)):
        path = ".".join(names)
        is_binary = isinstance(type_, T.BinaryType)
        columns.append(Column(path, position, _opaque(type_), is_binary=is_binary))
        expressions.append(_as_text(F.col(quoted(names)), type_))
    return columns, expressions


def select_columns(
    frame: DataFrame, paths: Collection[str] | None
) -> tuple[DataFrame, tuple[Column, ...], list[str]]:
    """Select the columns to read from a data frame, and write notes about unusable columns."""
    columns, expressions = leaf_expressions(frame)
    chosen, notes = choose_selectable_columns(columns, paths)
    read = [expressions[column.position] for column in chosen if not column.opaque]
    # Numbered, because Spark would read a dot in a name as a member of a struct.
    numbered = [each.alias(f"c{at}") for at, each in enumerate(read)]
    return frame.select(*numbered), chosen, notes


def spark_error_text(error: Exception) -> str:
    """Return a short form of a Spark error message for users."""
    lines = [line.lstrip(": ") for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(_PY4J_PREFIX)]
    return redact(lines[0] if lines else type(error).__name__)


def is_lost_worker(error: Exception) -> bool:
    """Return whether a Spark job failed because a worker crashed or was killed."""
    return any(sign in str(error) for sign in _LOST_WORKER)


def table_error(location: TableLocation, error: Exception) -> TableError:
    """Convert Spark's error about a table to a `TableError`."""
    if is_lost_worker(error):
        return LostWorkerError.by_reading()
    in_catalog = isinstance(location, CatalogTable | Relation)
    kind = UnreadableRelationError if in_catalog else UnreadableTableError
    return kind.because(spark_error_text(error))


def quoted(names: Sequence[str]) -> str:
    """Quote each part of a name for Spark SQL, and join the parts with dots.

    >>> quoted(["lake", "2024", "odd `name`"])
    '`lake`.`2024`.`odd ``name```'
    """
    return ".".join(f"`{name.replace('`', '``')}`" for name in names)


def escape_pattern(uri: str) -> str:
    r"""Escape the characters of a URI that have a special meaning in Spark's glob patterns.

    >>> escape_pattern("s3a://lake/orders[1].csv")
    's3a://lake/orders\\[1\\].csv'
    """
    return "".join(f"\\{sign}" if sign in _PATTERN_CHARACTERS else sign for sign in uri)


def _load_files(session: SparkSession, location: File | Folder) -> DataFrame:
    reader = session.read.format(format_of(location).spark_reader)
    # Spark's own discovery of partition keys would turn the text `01` into the number 1.
    reader = reader.option("recursiveFileLookup", value=True)
    uri = _spark_uri(location.uri)
    if isinstance(location, File) or not (location.newest or location.has_others):
        frame = reader.load(escape_pattern(uri))
    else:
        files = [escape_pattern(f"{uri}/{part}") for part in location.parts]
        # Earlier files of a series may lack columns.
        frame = reader.option("mergeSchema", value=True).load(files)
    return _with_texts(frame) if location.format == Parquet.name else frame


def stored_format(facts: Mapping[str, str]) -> FileFormat | None:
    """Return the format of a table's files, from Spark's description of the table."""
    provider = facts.get("Provider", "hive").lower()
    return format_of_provider(facts.get("Serde Library", "") if provider == "hive" else provider)


def _may_be_parquet(session: SparkSession, name: str) -> bool:
    """Return whether a table is stored as Parquet, or is a view, which may show such a table."""
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    facts = {row["col_name"]: row["data_type"] for row in rows}
    return facts.get("Type") == "VIEW" or isinstance(stored_format(facts), Parquet)


def _with_texts(frame: DataFrame) -> DataFrame:
    """Decode bytes that are text, as the other reader of Parquet files does."""
    columns = {name: F.col(quoted([name])) for name in _names_of_bytes(frame)}
    if not columns:
        return frame
    # A thousand images would fill the memory.
    short = [F.when(F.length(each) <= CONTENT_BYTES, each) for each in columns.values()]
    sizes = [F.length(each) for each in columns.values()]
    first = frame.select(*short, *sizes).limit(VALUES_LOOKED_AT).toArrow().columns
    texts = {
        name: columns[name].cast("string")
        for name, values, lengths in zip(columns, first, first[len(columns) :], strict=False)
        if are_texts(values) and pc.mean(lengths).as_py() <= CONTENT_BYTES
    }
    return frame.withColumns(texts)


def _names_of_bytes(frame: DataFrame) -> list[str]:
    return [each.name for each in frame.schema if isinstance(each.dataType, T.BinaryType)]


def _with_partition_keys(frame: DataFrame, keys: Collection[str]) -> DataFrame:
    """Add the partition keys that a data frame lacks, as text columns read from file paths."""
    # Spark ignores the case of column names.
    names = {name.lower() for name in frame.columns}
    for key in keys:
        if key.lower() not in names:
            frame = frame.withColumn(key, _partition_value(key))
    return frame


def _partition_value(key: str) -> Expression:
    pattern = "".join(f"\\{sign}" if not sign.isalnum() else sign for sign in key)
    path = F.col("_metadata.file_path")
    # Decoded twice: the path is a URI, and writers percent-encode values in folder names.
    value = F.url_decode(F.url_decode(F.regexp_extract(path, f"/{pattern}=([^/]*)/", 1)))
    return F.when(value != NULL_PARTITION, value)


def _spark_uri(uri: str) -> str:
    """Prefix a local path with `file://`."""
    # Spark may default to another file system.
    return uri if is_remote(uri) or urlsplit(uri).scheme else f"file://{uri}"


def _leaves(
    fields: T.StructType, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], T.DataType]]:
    for field in fields:
        names = (*above, field.name)
        if isinstance(field.dataType, T.StructType):
            yield from _leaves(field.dataType, names)
        else:
            yield names, field.dataType


def _as_text(leaf: Expression, type_: T.DataType) -> Expression:
    """Return the expression of values that Arrow can convert to text."""
    if isinstance(type_, T.BinaryType):
        return F.when(F.length(leaf) <= MOST_KEY_BYTES, F.lower(F.hex(leaf)))
    if isinstance(type_, T.ArrayType):
        return F.when(
            F.size(leaf) > 0, F.concat(F.lit("["), F.array_join(leaf, ", ", ""), F.lit("]"))
        )
    return leaf if isinstance(type_, _TEXT_TYPES) else leaf.cast("string")


def _opaque(type_: T.DataType) -> DataType | None:
    if isinstance(type_, T.ArrayType) and isinstance(type_.elementType, _ELEMENT_TYPES):
        return None
    nested = isinstance(type_, (T.ArrayType, T.MapType, T.VariantType, T.UserDefinedType))
    return DataType.NESTED if nested else None
