"""Tables that Spark's own readers read: those of its catalogs, and large files."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from pyspark.sql import types as T  # noqa: N812 (everyone's name for it)

from datahub_hyperjoin.errors import TableError, UnreadableTableError
from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergFolder,
    TableLocation,
    is_remote,
)
from datahub_hyperjoin.redact import in_short
from datahub_hyperjoin.spark.columns import Column, choose_columns, read_of
from datahub_hyperjoin.spark.errors import UnreadableRelationError
from datahub_hyperjoin.spark.files.parts import NO_VALUE, keys_of
from datahub_hyperjoin.spark.native.remote import literal
from datahub_hyperjoin.tables import DataType

SPARK_FAULTS = (PySparkException, Py4JJavaError)
"""What Spark raises; the second is what it has no error of Python's for."""

_HAVE_TEXTS = (
    T.StringType,
    T.BooleanType,
    T.IntegralType,
    T.FloatType,
    T.DoubleType,
    T.DecimalType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
)
"""What Arrow can write; Spark writes the others."""

_CALLED = "An error occurred while calling"
"""What the bridge to Java says before Java says what is wrong."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A table that is about to be profiled."""

    frame: DataFrame | None
    """Its rows, or a sample of them, with a column for each that has values; none without any."""

    columns: tuple[Column, ...]
    """All its columns that can be spoken of."""

    notes: list[str]
    """What a person should know."""

    rows: int
    """How many it has."""


def load_frame(session: SparkSession, place: TableLocation) -> DataFrame:
    """A table as Spark has it.

    Args:
        session: Where to run.
        place: Where the table is.

    Returns:
        Its rows; nothing is read yet but what tells the columns.

    Raises:
        PySparkException: Spark cannot tell them.
    """
    if isinstance(place, CatalogTable):
        return session.table(quoted([place.catalog, *place.schema.split("."), place.name]))
    if isinstance(place, DeltaFolder):
        return session.read.format("delta").load(_uri(place.location))
    if isinstance(place, IcebergFolder):
        return session.read.format("iceberg").load(_uri(place.location))
    if isinstance(place, File | Folder):
        return _load_files(session, place)
    message = f"Spark has no reader for {place}"
    raise TypeError(message)


def spark_leaves_of(frame: DataFrame) -> tuple[list[Column], dict[str, Expression]]:
    """The columns of a table, those of its structs included.

    Args:
        frame: Its rows.

    Returns:
        Columns by their paths, and how to select those that have values.
    """
    columns, selected = [], {}
    for at, (names, type_) in enumerate(_leaves(frame.schema)):
        path, opaque = ".".join(names), _opaque(type_)
        columns.append(Column(path, at, opaque))
        chosen = F.col(quoted(names))
        selected[path] = chosen if isinstance(type_, _HAVE_TEXTS) else chosen.cast("string")
    return columns, selected


def select_columns(
    frame: DataFrame, paths: Collection[str] | None
) -> tuple[DataFrame, tuple[Column, ...], list[str]]:
    """Leaves of a table what is to be read.

    Args:
        frame: Its rows.
        paths: The columns to read; without it, all.

    Returns:
        Rows with a column for each that has values, all columns asked for, and notes. What comes
        of the rows is without names: Spark would take a dot in one for a member of a struct.
    """
    columns, selected = spark_leaves_of(frame)
    chosen, notes = choose_columns(columns, paths)
    read = [selected[path].alias(f"c{at}") for at, path in enumerate(read_of(chosen))]
    return frame.select(*read), chosen, notes


def spark_error_text(error: Exception) -> str:
    """What Spark says of an error.

    Args:
        error: What was raised.

    Returns:
        A line without secrets.
    """
    lines = [line.lstrip(": ") for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(_CALLED)] or [type(error).__name__]
    return in_short(said[0])


def fault_of(place: TableLocation, error: Exception) -> TableError:
    """Why Spark cannot read a table, for people.

    Args:
        place: Where it is.
        error: What was raised.

    Returns:
        A fault that says what Spark says, in a line and without secrets.
    """
    reason = spark_error_text(error)
    kind = UnreadableRelationError if isinstance(place, CatalogTable) else UnreadableTableError
    return kind.because(reason)


def _load_files(session: SparkSession, place: File | Folder) -> DataFrame:
    """Files as one table; keys of folders are text, as `01` would not stay with Spark's own way."""
    reader = session.read.format(place.format.value).option("recursiveFileLookup", value=True)
    frame = reader.load(literal(_uri(place.location)))
    held = {name.lower() for name in frame.columns}
    for key in keys_of(place.parts[0]) if isinstance(place, Folder) else ():
        if key.lower() not in held:
            frame = frame.withColumn(key, _key(key))
    return frame


def _key(key: str) -> Expression:
    signs = "".join(f"\\{sign}" if not sign.isalnum() else sign for sign in key)
    path = F.col("_metadata.file_path")
    # Once for the URI of the file, once for how writers of such folders spell values.
    found = F.url_decode(F.url_decode(F.regexp_extract(path, f"/{signs}=([^/]*)/", 1)))
    return F.when(found != NO_VALUE, found)


def _uri(location: str) -> str:
    """A path of this machine is one for Spark, too, whatever its own file system is."""
    return location if is_remote(location) or urlsplit(location).scheme else f"file://{location}"


def _leaves(
    fields: T.StructType, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], T.DataType]]:
    for field in fields:
        names = (*above, field.name)
        if isinstance(field.dataType, T.StructType):
            yield from _leaves(field.dataType, names)
        else:
            yield names, field.dataType


def _opaque(type_: T.DataType) -> DataType | None:
    if isinstance(type_, T.BinaryType):
        return DataType.BINARY
    nested = isinstance(type_, (T.ArrayType, T.MapType, T.VariantType, T.UserDefinedType))
    return DataType.NESTED if nested else None


def quoted(names: Sequence[str]) -> str:
    """A name in Spark's SQL.

    Args:
        names: Its parts, the outermost first.

    Returns:
        The parts in backticks, with dots between them.

    >>> quoted(["lake", "2024", "odd `name`"])
    '`lake`.`2024`.`odd ``name```'
    """
    return ".".join(f"`{name.replace('`', '``')}`" for name in names)
