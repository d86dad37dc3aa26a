"""List the tables of folders, databases and data frames."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pydantic import SecretStr

from datahub_hyperjoin.catalog.databases import is_duckdb, is_sqlite
from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.catalog.folders import scan_folder, scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection, platform_of
from datahub_hyperjoin.discovery.copies import copy_duckdb, copy_frames
from datahub_hyperjoin.discovery.errors import UnusableSourceError
from datahub_hyperjoin.locations import Database, ObjectStore, check_store_uri, is_in_store
from datahub_hyperjoin.spark.files.formats import usual_endings
from datahub_hyperjoin.tables import Table

if TYPE_CHECKING:
    from sqlalchemy import URL

    from datahub_hyperjoin.discovery.progress import RunProgress


class Exclusion:
    """The tables that a search leaves out, by patterns of their names.

    Args:
        patterns: Names, or endings of names after a dot or slash, with the wildcards `*`, `?` and
            `[abc]`.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = tuple(patterns)
        self.unused = dict.fromkeys(self._patterns)
        """The patterns that no table has fitted yet."""
        self.left_out = 0
        """Number of tables that were left out."""

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

    kinds: str
    """Advice at the end of the message about a source without tables."""


def list_sources(
    sources: Sequence[Source], copies: Path, progress: "RunProgress", exclude: Iterable[str] = ()
) -> list[Table]:
    """List the tables of all sources; data frames and DuckDB's tables are first copied to `copies`.

    Args:
        progress: Receives files and frames that are not read.

    Returns:
        The tables. If there are several sources, the names begin with that of the source.
    """
    exclusion = Exclusion(exclude)
    listings = [_open(source, copies, progress, exclusion.keeps) for source in sources]
    if not listings:
        raise UnusableSourceError.without_any()
    prefixes = [*_prefixes([listing.name for listing in listings])]
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
        raise UnusableSourceError.without_tables(listing.label, kinds=listing.kinds)
    return kept


def _prefixes(names: Sequence[str]) -> Iterator[str]:
    """Yield a unique prefix for each source, to put before the source's table names.

    The prefix of a single source is empty.
    """
    seen: set[str] = set()
    for name in names if len(names) > 1 else []:
        free = (f"{name}-{at}" if at > 1 else name for at in count(1))
        prefix = next(each for each in free if each not in seen)
        seen.add(prefix)
        yield prefix
    if len(names) == 1:
        yield ""


def _open(
    source: Source, copies: Path, progress: "RunProgress", keeps: Callable[[str], bool]
) -> _Listing:
    if isinstance(source, Mapping):
        return _Listing(
            "frames",
            "the dict of data frames",
            lambda prefix: copy_frames(
                source, copies, prefix=prefix, warn=progress.warn, keeps=keeps
            ),
            "Pass at least one frame with rows",
        )
    if isinstance(source, str) and "://" in source:
        return _open_store(source, progress) if is_in_store(source) else _open_url(source)
    if not isinstance(source, str | Path):
        raise UnusableSourceError.other_value(source)
    return _open_path(Path(source).expanduser(), copies, progress, keeps)


def _open_path(
    path: Path, copies: Path, progress: "RunProgress", keeps: Callable[[str], bool]
) -> _Listing:
    if path.is_dir():
        return _Listing(
            path.resolve().name,
            str(path),
            lambda prefix: scan_folder(
                path, _selection(prefix, "/"), warn=progress.warn, count=progress.count
            ),
            f"Table files end in {usual_endings('.sqlite', '.duckdb')}",
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
            "Name another file",
        )
    raise UnusableSourceError.other_file(str(path))


def _selection(prefix: str, separator: str) -> TableSelection:
    # Braces in the prefix would be placeholders.
    begin = f"{prefix}{separator}".replace("{", "{{").replace("}", "}}") if prefix else ""
    return TableSelection(platform="file", env="PROD", names=begin + "{table}")


def _open_store(uri: str, progress: "RunProgress") -> _Listing:
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
            _selection(prefix, "/"),
            warn=progress.warn,
            count=progress.count,
        ),
        f"Table files end in {usual_endings()}",
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
        begin = _selection(prefix, ".").names.removesuffix("{table}")
        selection = TableSelection(
            platform=platform_of(database), env="PROD", names=begin + system.names_without_recipe
        )
        return scan_database(label, database, selection)

    name = Path(url.database or "").stem if system.is_file else url.database
    return _Listing(name or "database", label, scan, "Name another database")
