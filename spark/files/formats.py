"""What HyperJoin knows of a file format, and the registry of all formats.

Everything about one format is in its class. Installed packages add formats through the entry-point
group `datahub_hyperjoin.formats`, as CONTRIBUTING.md shows.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar

from datahub_hyperjoin.locations import Dialect, File, Folder
from datahub_hyperjoin.spark.columns import Paths, TableStream
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.files.errors import FormatPlugInError, UnknownFormatError
from datahub_hyperjoin.spark.files.stored import DataPath, bytes_of, path_of

GROUP = "datahub_hyperjoin.formats"
"""The entry-point group in which packages name their subclasses of `FileFormat`."""

MIXED = "mixed"
"""The name of files of several formats that are one table."""
_OWN = [
    EntryPoint("", f"{__package__}.{each}", GROUP)
    for each in (
        *("delimited:Csv", "delimited:Tsv", "fixed_width:FixedWidth"),
        *("json_files:Json", "json_files:JsonLines"),
        *("parquet:Parquet", "orc:Orc", "avro:Avro", "arrow_files:ArrowFile"),
        "statistics_files:StatisticsFile",
        *("excel:Workbook", "duckdb_tables:DuckDbFile", "zip_archives:ZipArchive"),
        "mixed_files:MixedFiles",
    )
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckDbCall:
    """A way to read files of a format in DuckDB's SQL."""

    function: str
    """The function, such as `read_csv`, whose first argument is the path."""

    options: Mapping[str, str | int] = field(default_factory=dict)
    """The other arguments, by name."""

    suffixes: tuple[str, ...] = ()
    """Endings of files for which DuckDB chooses this function itself, so the path is enough."""

    is_guess: bool = False
    """Whether DuckDB guesses the types of text, so that it may fail on a later row."""

    is_text: bool = False
    """Whether all values are read as text."""


class FileFormat(ABC):
    """Everything that HyperJoin knows of a file format.

    A format has no state: table locations carry its name, and each process looks it up there.
    """

    name: ClassVar[str]
    """The name in table locations, such as `csv`; no other format has it."""

    title: ClassVar[str]
    """What people call such files, in the plural, as in `CSV files`."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Endings of file names, in small letters and with a dot, that tell the format."""

    doubtful_suffixes: ClassVar[tuple[str, ...]] = ()
    """Endings that other files have, too, so that `recognises` looks at the content."""

    may_be_compressed: ClassVar[bool] = False
    """Whether a file may be compressed as a whole, as in `.csv.gz`. Others compress inside."""

    has_members: ClassVar[bool] = False
    """Whether a file holds several tables (`File.member`), such as the sheets of a workbook. The
    catalog lists those of HyperJoin's own formats only."""

    schema_suffix: ClassVar[str] = ""
    """Ending of a file beside each file that describes its columns; empty if there is none."""

    spark_reader: ClassVar[str] = ""
    """Spark's own reader, which returns the same values and divides large files between tasks;
    empty if Spark has none."""

    spark_reads_other_times: ClassVar[bool] = False
    """Whether Spark's reader returns points in time that `read` does not."""

    spark_providers: ClassVar[tuple[str, ...]] = ()
    """What Spark's catalog calls a table of such files: its provider, and Hive's class."""

    plain_duckdb_calls: ClassVar[tuple[DuckDbCall, ...]] = ()
    """The ways to read such files in DuckDB's SQL, if no dialect matters."""

    @abstractmethod
    def read(self, file: File, paths: Paths) -> TableStream:
        """Open a file to read its rows as a stream.

        Args:
            file: A file that is not empty, on this machine or in an object store. `path_of` makes
                a path of it, which `open_in_order` and `open_at_random` open.
            paths: Paths of the columns to read; all if None.

        Raises:
            UnreadableTableError: The file is damaged.
            EmptyTableError: It has no rows.
        """

    def recognises(self, path: DataPath, dialect: Dialect) -> bool:
        """Return whether a file with one of the `doubtful_suffixes` has this format."""
        raise NotImplementedError

    def list_members(self, path: DataPath, *, views: bool = True) -> Sequence[tuple[str, ...]]:
        """List the tables in a file that `has_members`, and its views if these are wanted."""
        raise NotImplementedError

    def group_sizes(self, file: File) -> Sequence[int]:
        """Return the sizes of the groups of rows that can be read alone; none if there are none."""
        del file
        return ()

    def read_groups(self, file: File, paths: Paths, groups: range) -> TableStream:
        """Open some of the groups that `group_sizes` lists, given by their indices."""
        raise NotImplementedError

    def duckdb_calls(self, dialect: Dialect) -> Sequence[DuckDbCall]:
        """List the ways to read such files in DuckDB's SQL, plainest first; none if it cannot."""
        del dialect
        return self.plain_duckdb_calls

    def duckdb_calls_of(self, file: File) -> Iterator[DuckDbCall]:
        """Yield the ways to read a file, plainest first; later ones may depend on its content."""
        yield from self.duckdb_calls(file.dialect)

    def duckdb_obstacle(self, file: File) -> str:
        """Say what DuckDB's SQL may not read in a file, and what to do; empty if it is unknown."""
        del file
        return ""


def format_of(location: File | Folder) -> FileFormat:
    """Return the format of a table's files."""
    return format_named(location.format)


def format_named(name: str) -> FileFormat:
    """Return the format that has a name."""
    found = next((each for each in _own() if each.name == name), None) or plug_ins().get(name)
    if found is None:
        raise UnknownFormatError.named(name)
    return found


def read_file(file: File, paths: Paths) -> TableStream:
    """Open a file with the reader for its format, to read all columns or those in `paths`."""
    try:
        # No reader is asked: each would report an empty file in another way.
        if not bytes_of(path_of(file)):
            raise EmptyTableError.without_content()
        return format_of(file).read(file, paths)
    except OSError as error:
        raise UnreadableTableError.because(error.strerror or str(error)) from error


def format_of_suffix(suffix: str) -> FileFormat | None:
    """Return the format that the ending of a file's name tells; None if it tells none."""
    ending = suffix.lower()
    return next((each for each in _all() if ending in each.suffixes), None)


def format_of_provider(provider: str) -> FileFormat | None:
    """Return the format that Spark's catalog names; None if Spark has no reader like ours."""
    return next((each for each in _own() if provider in each.spark_providers), None)


_MARKS = {
    b"PAR1": "parquet",
    b"ORC": "orc",
    b"Obj\x01": "avro",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    b"<stata_dta>": "statistics",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "workbook",
}
"""The first bytes of files by their format. A table here, so that no module is loaded in vain."""
_ZIP = b"PK\x03\x04"
_IN_WORKBOOKS = (b"xl/", b"[Content_Types].xml", b"application/vnd.oasis.opendocument.spreadsheet")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*\"|\[\s*\{)")


def format_of_content(head: bytes) -> str:
    """Return the name of the format that the beginning of a file shows; empty if it shows none.

    >>> format_of_content(b"PAR1..."), format_of_content(b'{"id": 7}'), format_of_content(b"id,n")
    ('parquet', 'json', '')
    """
    if head.startswith(_ZIP):
        return "workbook" if any(part in head for part in _IN_WORKBOOKS) else "zip"
    if _JSON.match(head):
        return "json"
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "")


_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[!?a-zA-Z][^\n>]*>")


def refuse_markup(head: bytes) -> None:
    """Raise an error if the beginning of a file is HTML or XML, whatever its name says."""
    if _MARKUP.match(head):
        raise UnreadableTableError.of_markup()


def formats_in_doubt(suffix: str) -> list[FileFormat]:
    """List the formats that a file may have whose name has this ending."""
    ending = suffix.lower()
    if format_of_suffix(ending):
        return []
    return [each for each in _all() if ending in each.doubtful_suffixes]


def usual_endings(*more: str, remote: bool = False) -> str:
    """List in words the usual ending of each format's files, as in `.csv, .tsv or .orc`.

    Files in remote folders have neither members nor a schema beside them.
    """
    formats = [
        each for each in _own() if not remote or not (each.has_members or each.schema_suffix)
    ]
    *first, last = [*(each.suffixes[0] for each in formats if each.suffixes), *more]
    return f"{', '.join(first)} or {last}"


def _all() -> Iterator[FileFormat]:
    yield from _own()
    # To look for plug-ins takes longer than to list a folder of ordinary files.
    yield from plug_ins().values()


def _own() -> Iterator[FileFormat]:
    return map(_load, _OWN)  # one by one: a lake of CSV files needs the module of no other format


@cache
def plug_ins() -> Mapping[str, FileFormat]:
    """Return the formats of other installed packages, by their names."""
    added = {each.name: each for each in map(_load, entry_points(group=GROUP))}
    if taken := added.keys() & {each.name for each in _own()}:
        raise FormatPlugInError.with_taken_names(taken)
    return added


@cache
def _load(entry: EntryPoint) -> FileFormat:
    try:
        format_: FileFormat = entry.load()()
        format_.name  # noqa: B018 (a class that is no format has none)
    except (ImportError, AttributeError, TypeError) as error:
        raise FormatPlugInError.because(entry.value, str(error)) from error
    return format_
