"""Errors that occur when Spark starts, or when tables are listed or read.

SparkError
├─ ExecutorTaskError
└─ MissingJavaError
CatalogError
├─ UnreachableDatabaseError
└─ UnreachableSourceError
TableError (TableWithHeaderError)
├─ UnreadableTableError
│  ├─ UnreadableRelationError
│  ├─ MissingReaderError
│  ├─ LostWorkerError
│  ├─ NoMetadataError
│  ├─ NotAvroError
│  ├─ TooDeepError
│  └─ UnshippedFileError
└─ EmptyTableError
   └─ EmptyRelationError
ProcessStartError
UnlikeCatalogError
"""

import re
from collections.abc import Iterable
from datetime import date
from enum import Enum

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError, HyperJoinError, SparkError, TableError
from datahub_hyperjoin.wording import name_some

_DRIVERS = {"psycopg2": "'datahub-hyperjoin[postgres]'", "pymysql": "'datahub-hyperjoin[mysql]'"}
"""The package that installs a driver without a compiler, if its name differs from the driver's."""
_NO_LOGIN = {"1045", "1698", "28000", "28P01"}
"""Codes of MariaDB and PostgreSQL for a user or a password that they refuse."""
_LONGEST_REASON = 1_000
"""Number of characters to keep of a library's error message, which may quote a whole file."""


class MissingJavaError(SparkError, OSError):
    """Spark finds no usable installation of Java."""

    @classmethod
    def nowhere(cls) -> Self:
        return cls(
            "Spark needs Java 17 or newer, and neither JAVA_HOME nor PATH leads to one. Install "
            "it, for example with `apt-get install openjdk-17-jre-headless`, or set "
            "`spark.master` to a Spark Connect server, `sc://host:port`"
        )

    @classmethod
    def refused(cls, java: str) -> Self:
        return cls(
            f"Spark needs Java 17 or newer, and {java} ended before Spark had started. Read its "
            "messages above, and check `java -version`. Java 17 can be installed, for example, "
            "with `apt-get install openjdk-17-jre-headless`"
        )


class ProcessStartError(HyperJoinError, OSError):
    """The system lets no process start that reads tables."""

    @classmethod
    def because(cls, reason: str) -> Self:
        return cls(
            f"no process that reads tables can start: {reason.splitlines()[0].rstrip('.')}. Raise "
            "the limits on memory (`ulimit -v`), processes (`ulimit -u`) and open files "
            "(`ulimit -n`), or free memory"
        )


class ExecutorTaskError(SparkError, RuntimeError):
    """A task on a GPU of the cluster failed."""

    @classmethod
    def because(cls, reason: str) -> Self:
        return cls(
            f"the task on an executor failed: {reason[:_LONGEST_REASON]}. See what it printed, in "
            "the log of this run"
        )


class TableWithHeaderError(TableError):
    """An error about a table whose columns may be known."""

    header: tuple[str, ...] = ()
    """The paths of the table's columns; empty if they are unknown."""

    def with_header(self, paths: Iterable[str]) -> Self:
        """Store the paths of the table's columns in the error, and return the error."""
        self.header = tuple(paths)
        return self


class UnreadableTableError(TableWithHeaderError, ValueError):
    """A table cannot be read."""

    @classmethod
    def because(cls, reason: str) -> Self:
        return cls(f"cannot be read: {reason[:_LONGEST_REASON]}. Fix the file")

    @classmethod
    def not_text(cls) -> Self:
        return cls.because("its bytes are not text")

    @classmethod
    def of_markup(cls) -> Self:
        return cls(
            "cannot be read: it holds HTML or XML, whatever its name says. Open it in a "
            "spreadsheet program, and save its table as CSV or XLSX"
        )

    @classmethod
    def in_archive(cls) -> Self:
        return cls.because("its ZIP archive is damaged, or compressed by an unknown method")

    @classmethod
    def of_old_feather(cls) -> Self:
        return cls.because("it has version 1 of Feather; write it again")

    @classmethod
    def without_names(cls) -> Self:
        return cls.because("no column has a name or a value")

    @classmethod
    def with_long_row(cls, most: int) -> Self:
        return cls.because(f"a row is longer than {most} MiB, or a quote in it is never closed")

    @classmethod
    def with_long_lines(cls, most: int) -> Self:
        return cls.because(f"each of its lines is longer than {most} MiB")

    @classmethod
    def with_long_header(cls, most: int) -> Self:
        return cls.because(
            f"its first line is too long: a field has more than {most:,} characters, so it names "
            "no column, or a quote in it is never closed"
        )

    @classmethod
    def ragged(cls, rows: int) -> Self:
        return cls.because(f"none of its {rows} rows has as many fields as the header")


class EmptyTableError(TableWithHeaderError, ValueError):
    """A table has no rows."""

    @classmethod
    def without_content(cls) -> Self:
        return cls("is an empty file. Add rows")

    @classmethod
    def without_cells(cls) -> Self:
        return cls("is an empty sheet. Add rows")

    @classmethod
    def without_rows(cls) -> Self:
        return cls("has a header but no rows. Add rows")


class UnreachableDatabaseError(CatalogError, OSError):
    """A database cannot be reached, or its tables cannot be listed."""

    @classmethod
    def because(cls, connection: str, reason: str, code: str = "") -> Self:
        fix = "Check its `url` and `password`, and that the database is running"
        if cause_of(reason, code) is Cause.PRIVILEGE and code not in _NO_LOGIN:
            fix = "Let the connection's user read the names of its tables, columns and keys"
        return cls.behind_pool(connection, reason.rstrip("."), fix)

    @classmethod
    def behind_pool(cls, connection: str, refused: str, fix: str) -> Self:
        return cls(f"the database of `{connection}` cannot be read: {refused}. {fix}")

    @classmethod
    def without_driver(cls, connection: str, package: str) -> Self:
        fix = f"Install it with `pip install {_DRIVERS.get(package, package)}`, or name another "
        fix += "driver in the `url`, as in `postgresql+psycopg2://`"
        return cls.behind_pool(connection, f"its driver {package} is not installed", fix)

    @classmethod
    def without_dialect(cls, connection: str, scheme: str, extra: str) -> Self:
        fix = "Install the package that has it, or correct the `url`"
        if extra:
            fix = f"Install it with `pip install 'datahub-hyperjoin[{extra}]'`"
        return cls.behind_pool(
            connection, f"no SQLAlchemy dialect for `{scheme}` is installed", fix
        )


class UnreachableSourceError(CatalogError, OSError):
    """Spark cannot list the tables of a catalog or the files of a folder."""

    @classmethod
    def of_catalog(cls, connection: str, reason: str) -> Self:
        return cls(
            f"the catalog of `{connection}` cannot be listed: {reason.rstrip('.')}. Check its "
            "`spark_catalog`, and the catalog's entries in `spark.settings`"
        )

    @classmethod
    def of_folder(cls, connection: str, reason: str) -> Self:
        return cls(
            f"the folder of `{connection}` cannot be listed: {reason.rstrip('.')}. Check its "
            "`folder`, and that `spark.settings` let Spark reach it"
        )


class UnreadableRelationError(UnreadableTableError):
    """A database or catalog does not return the rows of a table."""

    @classmethod
    def because(cls, reason: str, code: str = "") -> Self:
        return cls(f"cannot be read: {reason.rstrip('.')}. {cause_of(reason, code).value}")

    @classmethod
    def too_slow(cls, seconds: float) -> Self:
        return cls(
            f"cannot be read: it takes longer than its time limit of {seconds:g} s. Make it faster"
        )

    @classmethod
    def removed(cls) -> Self:
        return cls("cannot be read: it no longer exists. Run again")


class UnlikeCatalogError(HyperJoinError, ValueError):
    """The columns of a file differ from the Spark catalog, or only Spark can read the file."""

    @classmethod
    def in_columns(cls, names: Iterable[str]) -> Self:
        return cls(
            f"a file differs from the catalog in the columns {name_some(sorted(names))}. Spark's "
            "own readers read the table"
        )

    @classmethod
    def unreadable(cls, reason: Exception) -> Self:
        return cls(f"a file {reason}. Spark's own readers read the table")


class EmptyRelationError(EmptyTableError):
    """A table in a database or catalog has no rows."""

    @classmethod
    def without_rows(cls) -> Self:
        return cls("has no rows. Add rows")


class LostWorkerError(UnreadableTableError):
    """A table crashed the worker that read it, or needs too much memory."""

    @classmethod
    def by_reading(cls) -> Self:
        return cls(
            "cannot be read: it ends the process that reads it, because its bytes are damaged or "
            "its rows take too much memory. Repair it, or divide it into several tables"
        )

    @classmethod
    def by_reading_on(cls, day: date, *, again: date) -> Self:
        return cls(
            f"is not read: on {day} it ended the process that read it, and it has not changed "
            f"since. It is read again when it changes, or from {again}. Repair it, or divide it "
            "into several tables"
        )

    @classmethod
    def by_memory(cls) -> Self:
        return cls(
            "cannot be read: its rows take more memory than a worker may use. Lower "
            "`profile.max_bytes`, or divide it into several tables"
        )


class MissingReaderError(UnreadableTableError):
    """The package that reads a kind of table is not installed."""

    @classmethod
    def of_delta(cls) -> Self:
        return cls._of("a Delta table", "deltalake", "delta")

    @classmethod
    def of_iceberg(cls) -> Self:
        return cls._of("an Iceberg table", "pyiceberg", "iceberg")

    @classmethod
    def of_workbook(cls) -> Self:
        return cls._of("a sheet of a workbook", "python-calamine", "excel")

    @classmethod
    def _of(cls, what: str, package: str, extra: str) -> Self:
        install = f"Install it with `pip install 'datahub-hyperjoin[{extra}]'`"
        return cls(f"is {what}, which needs the package {package}. {install}")


class NoMetadataError(UnreadableTableError):
    """An Iceberg table lacks usable metadata."""

    @classmethod
    def in_file(cls, name: str) -> Self:
        return cls.because(f"{name} is not the metadata of an Iceberg table")

    @classmethod
    def of_any_version(cls) -> Self:
        return cls.because("its metadata folder has no file with a version")


class NotAvroError(UnreadableTableError):
    """A file has the extension `.avro`, but is not an Avro file."""

    @classmethod
    def at_the_beginning(cls) -> Self:
        return cls.because("it does not begin like an Avro file")


class TooDeepError(UnreadableTableError):
    """A line of JSON is nested too deeply to parse."""

    @classmethod
    def beyond(cls, most: int) -> Self:
        return cls.because(f"a line is nested more than {most} levels deep")


class UnshippedFileError(UnreadableTableError):
    """Spark listed a file, but cannot copy it to a worker."""

    @classmethod
    def at_all(cls) -> Self:
        return cls(
            "cannot be read: Spark cannot copy it, because it was removed, Spark's user has no "
            "permission to read it, or it is larger than 1 GiB. Grant the permission, or store it "
            "as Parquet"
        )


class Cause(Enum):
    """A cause of an error of a database; its value is the advice to users."""

    DIVISION = "Correct the expression that divides by zero, or leave the table out"
    FUNCTION = "Create the function that it calls, or correct its definition"
    TIME = "It takes longer than the time limit allows. Make it faster, or leave it out"
    CONNECTION = "The connection was lost. Run again when the database answers"
    PRIVILEGE = "Let the connection's user select from it"
    DEFINITION = "Correct its definition, which needs what no longer exists"
    DATA = "Correct the values or the expression that cannot be computed, or leave the table out"
    OTHER = "Read it as the connection's user, to see what is wrong"


_SIGNS = {
    Cause.DIVISION: (r"22012|1365", r"divi(?:sion|ded?)[ _]by[ _]zero"),
    Cause.FUNCTION: (
        r"42883|1305",
        r"(?:function|routine)\b.*(?:does not exist|not found|unknown)|no such function",
    ),
    Cause.TIME: (
        r"57014|55P03|1205|1969|3024",
        r"time(?:d)?[ -]?out|time limit|too long|execution time|interrupted",
    ),
    Cause.CONNECTION: (
        r"08\w{3}|57P0\d|1053|1927|200[236]|2013|2055",
        r"(?:connection|server) .*(?:closed|refused|gone|terminat)|lost conn|could not connect",
    ),
    Cause.PRIVILEGE: (
        r"42501|1044|1045|1142|1143|1227|1370",
        r"permission|privilege|denied|not authori[sz]ed|unauthori[sz]ed|forbidden",
    ),
    Cause.DEFINITION: (
        r"42P01|42703|42704|3F000|1054|1146|1356|1449",
        r"(?:does not|doesn't|no longer) exist|not[ _]found|no such|unknown (?:table|column)",
    ),
    Cause.DATA: (
        r"22\w{3}|1264|1292|1366|1411|1425|1690",
        r"invalid|out of range|overflow|malformed|corrupt|incorrect|convert|cast",
    ),
}
"""For each cause, the codes and the words that tell it. The first whose words match is taken."""


def cause_of(reason: str, code: str = "") -> Cause:
    """Return the cause of a database's error.

    Examples:
        >>> cause_of("division by zero").name, cause_of("Teilung durch Null", "22012").name
        ('DIVISION', 'DIVISION')
        >>> cause_of("Access Denied: Cannot select from columns [pay]").name
        'PRIVILEGE'
        >>> cause_of("function f(integer) does not exist").name
        'FUNCTION'
        >>> cause_of("the disk is full").name
        'OTHER'
    """
    by_code = (cause for cause, (codes, _) in _SIGNS.items() if re.fullmatch(codes, code))
    by_words = (
        cause for cause, (_, words) in _SIGNS.items() if re.search(words, reason, re.IGNORECASE)
    )
    return next(by_code, None) or next(by_words, Cause.OTHER)
