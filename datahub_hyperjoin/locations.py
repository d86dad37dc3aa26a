"""Where the rows of tables are."""

from dataclasses import dataclass, field
from enum import Enum

from pydantic import SecretStr


class FileFormat(str, Enum):
    """How a file's bytes are laid out."""

    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    JSON_LINES = "jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How files of delimited text are written."""

    delimiter: str | None = None
    """What separates fields; without it a tab in .tsv, and elsewhere comma, semicolon, tab or bar,
    as each file tells."""

    quote: str = '"'
    """What surrounds fields that hold a delimiter, a quote or a new line; within it, it is written
    twice. Empty if nothing is quoted."""

    escape: str = ""
    """What stands before a sign that is to be taken as it is."""

    encoding: str | None = None
    """Python's name of the encoding, as in `cp1251`; without it UTF-8, what a byte order mark
    names, or Windows-1252, as each file tells."""

    def __post_init__(self) -> None:
        """Refuse what no file can be read by."""
        for name in ("delimiter", "quote", "escape"):
            sign = getattr(self, name)
            if sign and not (len(sign) == 1 and sign.isascii() and sign not in "\0\r\n"):
                message = f"`{name}` is {sign!r}; it must be one ASCII character"
                raise ValueError(message)
        if self.delimiter == "":
            message = "`delimiter` is empty; leave it out, and each file tells"
            raise ValueError(message)
        signs = [sign for sign in (self.delimiter, self.quote, self.escape) if sign]
        if len(signs) > len({*signs}):
            message = "`delimiter`, `quote` and `escape` must be different characters"
            raise ValueError(message)
        if self.encoding and not _is_encoding(self.encoding):
            message = f"`encoding` is {self.encoding!r}, which Python does not know"
            raise ValueError(message)


USUAL = Dialect()
"""What needs no telling."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file found in a folder."""

    location: str
    """Its path, or its URI, not encoded, as Spark writes it."""

    path: str
    """Its path below the folder."""

    size: int
    """Bytes."""

    changed: int
    """When it was written last, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file."""

    location: str
    """Its path, or a URI, as in `s3a://lake/orders.csv`."""

    format: FileFormat
    """How it is laid out."""

    dialect: Dialect = USUAL
    """How it is written, if it is delimited text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A table of many files, as Spark writes them."""

    location: str
    """Its path, or a URI."""

    format: FileFormat
    """How each of its files is laid out."""

    parts: tuple[str, ...]
    """Paths of the files below it; `key=value` on the way is a column and its value."""

    dialect: Dialect = USUAL
    """How they are written, if they are delimited text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaFolder:
    """A folder whose log says which of its files are the table."""

    location: str
    """Its path, or a URI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergFolder:
    """A folder whose metadata says which files are the table, and what its columns are called."""

    location: str
    """Its path."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Database:
    """A database, and how gently it is read."""

    url: SecretStr
    """Where it is, as SQLAlchemy writes it: `postgresql+psycopg2://reader@host/shop`."""

    password: SecretStr | None = field(default=None, repr=False)
    """The user's password, if it stands not in the URL; write `${SHOP_PASSWORD}` and keep it in the
    environment."""

    max_connections: int = 2
    """Connections at once, each read by a task of Spark's."""

    timeout: float = 600.0
    """Seconds that a statement may take, where the database can be told: PostgreSQL, MariaDB and
    MySQL can."""

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing could be read."""
        for name in ("max_connections", "timeout"):
            if getattr(self, name) < 1:
                message = f"`{name}` is {getattr(self, name)}; it must be at least 1"
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table or a view of a database."""

    database: Database
    """Where it stands."""

    connection: str
    """The database's key in the recipe, as in `connections[0]`, for messages."""

    schema: str
    """Its schema."""

    name: str
    """Its name in the schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTable:
    """A table or a view of one of Spark's own catalogs: Hive's, Iceberg's, a database's by JDBC."""

    catalog: str
    """The catalog, as in `spark_catalog`."""

    schema: str
    """Its schema; parts of a longer namespace are joined by dots."""

    name: str
    """Its name in the schema."""


TableLocation = File | Folder | DeltaFolder | IcebergFolder | Relation | CatalogTable
"""Anything that rows can be read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCatalog:
    """A catalog of Spark's."""

    name: str
    """Its name, as in `spark_catalog`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFolder:
    """A folder in a file system that Spark is told how to reach."""

    location: str
    """Its URI, as in `s3a://lake/sales`."""


TableSource = Database | SparkCatalog | RemoteFolder
"""Anything that has tables of its own to list."""


def is_remote(location: str) -> bool:
    """Whether a location is in a file system that only Spark may know how to reach.

    Args:
        location: A path or a URI.

    Returns:
        Whether it is a URI of another kind than `file:`.

    Examples:
        >>> is_remote("s3a://lake/orders.csv"), is_remote("file:///lake/a.csv"), is_remote("lake")
        (True, False, False)
    """
    scheme, separator, _ = location.partition("://")
    return bool(separator) and scheme != "file"


def _is_encoding(name: str) -> bool:
    try:
        "".encode(name)
    except LookupError:
        return False
    return True
