"""Table locations: files, folders, databases, Spark catalogs and remote folders."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from pydantic import SecretStr
from typing_extensions import Self, assert_never

from datahub_hyperjoin.bounds import FewAtOnce, SecondsFromOne

VIEW_SECONDS = 60.0
"""Time limit of reading a view, in seconds, unless the recipe has another."""


def _can_delimit(character: str) -> bool:
    return len(character) == 1 and character.isascii() and character not in "\0\r\n"


def _is_encoding(name: str) -> bool:
    try:
        "".encode(name)
    except LookupError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The syntax of delimited text files, such as CSV."""

    delimiter: str | None = None
    """Character between fields. By default, it is detected for each file: comma, semicolon, tab or
    bar, else a rarer one; in .tsv files a tab if the header has one."""

    quote: str = '"'
    """Character around fields that contain a delimiter, a quote or a line break; inside a field it
    is doubled. Empty if no field is quoted."""

    escape: str = ""
    """Character after which the next one is read literally."""

    encoding: str | None = None
    """Python's name of the encoding, as in `cp1251`. By default, the encoding is detected for each
    file: that of the byte order mark, UTF-16 if zero bytes show it, else UTF-8, else the older
    encoding that the text resembles most."""

    header: bool = True
    """Whether the first row holds the names of the columns. Otherwise DuckDB's names are used:
    `column0`, `column1` and so on."""

    def __post_init__(self) -> None:
        """Check the encoding, and that delimiter, quote and escape are valid and different."""
        for name in ("delimiter", "quote", "escape"):
            character = getattr(self, name)
            if character and not _can_delimit(character):
                message = f"`{name}` is {character!r}; it must be one ASCII character"
                raise ValueError(message)
        if self.delimiter == "":
            message = "`delimiter` is empty. Remove the key to detect it in each file"
            raise ValueError(message)
        characters = [c for c in (self.delimiter, self.quote, self.escape) if c]
        if len(characters) > len({*characters}):
            message = "`delimiter`, `quote` and `escape` must be different characters"
            raise ValueError(message)
        if self.encoding and not _is_encoding(self.encoding):
            message = f"`encoding` is {self.encoding!r}, which Python does not know"
            raise ValueError(message)


DEFAULT_DIALECT = Dialect()
"""The dialect that is detected in each file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How the files are read whose path fits a pattern; what is left out is as in other files."""

    pattern: str = "*"
    """Pattern of the path of a file, or of a folder above it, below the folder that is read; `*`
    stands for any text, as in `exports/*.csv`."""

    delimiter: str | None = None
    """Character between fields."""

    encoding: str | None = None
    """Python's name of the encoding, as in `cp1251`."""

    header: bool | None = None
    """Whether the first row holds the names of the columns."""

    sheet: str | None = None
    """Name of the sheet of a workbook that is read, or a pattern such as `20*`."""

    def __post_init__(self) -> None:
        """Check delimiter and encoding."""
        self.of(DEFAULT_DIALECT)

    def fits(self, path: str) -> bool:
        """Return whether the options hold for the file with this path.

        >>> options = FileOptions(pattern="exports/20*")
        >>> [options.fits(path) for path in ("exports/2024.csv", "exports/2024/a.csv", "a.csv")]
        [True, True, False]
        """
        paths = (PurePosixPath(path), *PurePosixPath(path).parents)
        return any(fnmatchcase(str(each), self.pattern) for each in paths)

    def of(self, dialect: Dialect) -> Dialect:
        """Return a dialect, with what these options say of it."""
        keys = ("delimiter", "encoding", "header")
        said = {key: value for key in keys if (value := getattr(self, key)) is not None}
        return replace(dialect, **said)


STORE_SCHEMES = ("s3", "gs", "abfs", "abfss")
"""Schemes of the URIs of stores that Arrow can read."""

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


class FolderReader(str, Enum):
    """The library that lists and reads the files of a remote folder."""

    ARROW = "arrow"
    """Arrow, which works in any process: it needs no jar, and small lakes need no Spark."""

    SPARK = "spark"
    """Spark, with the jars and settings that its session has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStore:
    """The endpoint and region of an object store.

    The credentials come from the environment of each process.
    """

    endpoint: str = ""
    """URL of a store that speaks S3, as in `http://127.0.0.1:9000`; empty for Amazon's own."""

    region: str = ""
    """Region of the bucket. If empty, Amazon reports the region; for another endpoint, the
    environment defines it."""

    @classmethod
    def of_environment(
        cls, *, endpoint: str = "", region: str = "", environment: Mapping[str, str] = os.environ
    ) -> Self:
        """Create a store, with the endpoint from Amazon's environment variables by default.

        The processes that read the files may have another environment.
        """
        named = (environment.get(name, "") for name in _ENDPOINTS)
        return cls(endpoint=endpoint or next(filter(None, named), ""), region=region)


def is_in_store(uri: str) -> bool:
    """Return whether a URI has the scheme of an object store that Arrow can read.

    >>> is_in_store("s3://lake/sales"), is_in_store("s3a://lake/sales"), is_in_store("lake")
    (True, False, False)
    """
    return uri.partition("://")[0] in STORE_SCHEMES and "://" in uri


def check_store_uri(uri: str) -> None:
    """Refuse a URI that Arrow cannot read, or that contains a secret."""
    scheme, _, rest = uri.partition("://")
    if scheme not in STORE_SCHEMES:
        message = (
            f"`reader: arrow` does not read {scheme}://. Write the URI with one of "
            f"{', '.join(STORE_SCHEMES)}, or set `reader: spark`"
        )
        raise ValueError(message)
    host = rest.partition("/")[0]
    # `abfss` has the container before the @, and may have a key after a colon.
    if "@" in host and (scheme in {"s3", "gs"} or ":" in host.rpartition("@")[0]):
        message = (
            f"the {scheme}:// URI contains credentials. Give them in the environment, for S3 as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
        raise ValueError(message)
    if not host:
        message = f"the {scheme}:// URI names no bucket. Write it as in s3://lake/sales"
        raise ValueError(message)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file found by listing a folder."""

    uri: str
    """Path or URI of the file, not percent-encoded, as Spark writes it."""

    path: str
    """Path of the file relative to the folder."""

    size: int
    changed: int
    """Time of the last change, in nanoseconds since 1970."""

    format: str = ""
    """The format that the file's content shows; empty if its name tells it or nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A table stored in one file."""

    uri: str
    """Path or URI, as in `s3a://lake/orders.csv`."""

    format: str
    """Name of the file's format, as in `csv`."""

    dialect: Dialect = DEFAULT_DIALECT
    """The file's dialect, if it is delimited text."""

    member: tuple[str, ...] = ()
    """Name of the table if the file holds several: the sheet of a workbook, or the schema and name
    of a table of a DuckDB database."""

    is_view: bool = False
    """Whether it is a view of a DuckDB database."""

    copy_of: tuple[str, ...] = ()
    """Parts of the SQL name of the data frame or DuckDB table that was copied to this file. Empty
    if the file is no temporary copy."""

    store: ObjectStore | None = None
    """The object store from which Arrow reads the file; None if it is local or Spark reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A table stored as a folder of files in one format."""

    uri: str
    """Path or URI of the folder."""

    format: str
    """Name of the format of each file."""

    parts: tuple[str, ...]
    """Paths of the files relative to the folder. A folder `key=value` on a path is a column and its
    value."""

    dialect: Dialect = DEFAULT_DIALECT
    """The dialect of the files, if they are delimited text."""

    store: ObjectStore | None = None
    """The object store from which Arrow reads the files; None if they are local or Spark reads
    them."""

    pattern: str = ""
    """Glob pattern of the files, if the folder has other files, too."""

    has_others: bool = False
    """Whether the folder has other files, and no pattern tells them from these."""

    newest: str = ""
    """Path below the folder of the newest of several files, folders or sheets that are one table,
    which is called after it and has its columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaFolder:
    """A Delta table, stored as a folder of data files and a log."""

    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergFolder:
    """An Iceberg table, stored as a folder of data files and metadata."""

    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergDataFile:
    """A local copy of one data file of a remote Iceberg table.

    Only Spark's workers make such locations; no catalog lists them.
    """

    uri: str
    """Local path of the copied data file."""

    scan: bytes = field(repr=False)
    """The pickled scan of the table, shared by all its data files."""

    task: bytes = field(repr=False)
    """The pickled task of the scan that reads this data file."""


class Compute(str, Enum):
    """Where the values of one database are counted and compared: in the database or in Spark."""

    DATABASE = "database"
    """In the database, where its SQL can count and compare the values; only counts, hashes and
    samples leave the database."""

    SPARK = "spark"
    """In Spark's workers, which read the rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Database:
    """A database to read: its URL, password and limits."""

    url: SecretStr
    """SQLAlchemy's URL: `postgresql+psycopg2://reader@host/shop`."""

    password: SecretStr | None = field(default=None, repr=False)
    """The user's password, if the URL does not contain it. Write `${SHOP_PASSWORD}` and set the
    password in the environment."""

    max_connections: FewAtOnce = 2
    """Maximum number of connections open at once; each is used by one Spark task."""

    timeout: SecondsFromOne = 600.0
    """Time limit of a statement, in seconds, on PostgreSQL, MariaDB, MySQL, ClickHouse, Redshift,
    Snowflake, Trino and SQL warehouses of Databricks, where it is at most two days."""

    view_timeout: SecondsFromOne = VIEW_SECONDS
    """Time limit of reading a view, in seconds, on the same systems and SQLite. A view that takes
    longer is skipped."""

    compute: Compute | None = None
    """Where to profile large tables of this database and compare its columns with each other.
    With `database`, PostgreSQL from version 13 on, MariaDB from 10.11 on, ClickHouse from 26.9
    on, Databricks, BigQuery, Redshift, Snowflake and Trino do this in SQL, as far as they can;
    PostgreSQL by default. Otherwise, the rows are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCopy:
    """What came of reading a view for all stages of a run."""

    file: str = ""
    """A private Parquet file on this machine with all rows, as text; empty if there is a fault."""

    fault: str = ""
    """Why the view cannot be read; empty if it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table or view in a database."""

    database: Database
    connection: str
    """The recipe key of the database, as in `connections[0]`, for messages."""

    schema: str
    name: str
    is_view: bool = False
    """Whether it is a view that is not materialized, so that reading it runs a query."""

    copy: ViewCopy | None = None
    """The copy of a view from which the run reads; None to read in the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFiles:
    """The data files of a table in a Spark catalog, to be read without Spark's readers."""

    folder: Folder
    """The folder that contains the files, with the path of each file."""

    schema: bytes = field(repr=False)
    """The catalog's schema of the table, without partition columns, in Arrow's IPC format. A file
    with other columns or types is converted or refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTable:
    """A table or view in a Spark catalog."""

    catalog: str
    """The catalog, as in `spark_catalog`."""

    schema: str
    """Schema that contains the table or view; levels of a nested namespace are joined by dots."""

    name: str
    files: CatalogFiles | None = None
    """The table's files on this machine, which are read without Spark; None for a view, and for a
    table that only Spark can read."""


TableLocation = (
    File | Folder | DeltaFolder | IcebergFolder | IcebergDataFile | Relation | CatalogTable
)
"""Any location from which the rows of a table can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCatalog:
    """A Spark catalog, configured in the Spark session."""

    name: str
    """Name of the catalog, as in `spark_catalog`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFolder:
    """A folder in a remote file system."""

    uri: str
    """URI, as in `s3a://lake/sales`."""

    store: ObjectStore | None = None
    """The object store from which Arrow reads the folder; None if Spark reads it."""


TableSource = Database | SparkCatalog | RemoteFolder
"""Any source that lists tables of its own."""


def database_of(location: TableLocation) -> Database | None:
    """Return the database from which a table is read; None if it is read elsewhere."""
    match location:
        case Relation():
            return location.database
        case File() | Folder() | DeltaFolder() | IcebergFolder() | IcebergDataFile():
            return None
        case CatalogTable():
            return None
        case _:
            assert_never(location)


def is_remote(uri: str) -> bool:
    """Return whether a path or URI belongs to a remote file system.

    >>> is_remote("s3a://lake/orders.csv"), is_remote("file:///lake/a.csv"), is_remote("lake")
    (True, False, False)
    """
    scheme, separator, _ = uri.partition("://")
    return bool(separator) and scheme != "file"
