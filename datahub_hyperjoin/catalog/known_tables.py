"""Find the dataset of each table of a run, and leave out tables without a dataset."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from typing_extensions import assert_never

from datahub_hyperjoin.catalog.datasets import Dataset, PlatformInstance
from datahub_hyperjoin.catalog.errors import UnknownDatasetsError
from datahub_hyperjoin.catalog.path_matching import DatasetPath, FilePath, match_paths
from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
    WorkbookSheet,
    is_remote,
)
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.visible import logger_of
from datahub_hyperjoin.wording import name_some

logger = logger_of(__name__)


@dataclass(frozen=True, kw_only=True)
class FolderNames:
    """The rules by which DataHub names the tables in the recipe's local folder."""

    folder: Path
    """The local folder that the recipe names."""

    instance: PlatformInstance
    """The platform instance of the datasets of these tables."""

    stated: bool = False
    """Whether the recipe states the names (`catalog.names`)."""

    def parts_of(self, table: TableId) -> tuple[str, ...]:
        """Return the name of a table as a path, without the platform instance.

        Args:
            table: The table.
        """
        prefix = f"{self.instance.instance}." if self.instance.instance else ""
        return tuple(table.name.removeprefix(prefix).split("/"))


@dataclass(frozen=True, kw_only=True)
class KnownTables:
    """The tables of a run, with the names of their datasets."""

    tables: Sequence[Table]
    """All tables, under the names of their datasets; a table without a dataset keeps its own name.
    """

    matched: Mapping[TableId, TableId] = field(default_factory=dict)
    """Maps the table of a file to its dataset, for each file whose dataset has another name."""

    unclear: Mapping[TableId, Sequence[TableId]] = field(default_factory=dict)
    """For each table whose dataset a person has to choose, the possible datasets."""


def find_datasets(
    tables: Sequence[Table],
    datasets: Mapping[TableId, Dataset],
    *,
    names: FolderNames | None,
    earlier: Collection[TableId],
) -> KnownTables:
    """Find the dataset of each table, first by the table's name, then by the path of its file.

    Headers of files are read only if a dataset does not have the file's whole path as its name.

    Args:
        tables: The tables that can be read.
        datasets: The datasets of their platforms.
        names: How files are named; None if the recipe has no local folder.
        earlier: Tables about which the last run wrote anything; of datasets that match a file
            equally well, theirs is preferred.

    Returns:
        The tables under the names of their datasets.
    """
    unnamed = [table for table in tables if table.id not in datasets]
    if not names or not unnamed:
        return KnownTables(tables=tables)
    files = {table.id: file for table in unnamed if (file := _file_path(table, names))}
    taken = {table.id for table in tables}
    matches = match_paths(
        files,
        {
            table: DatasetPath(
                parts=names.parts_of(table),
                columns=_leaves(path for path, _ in dataset.columns),
                is_earlier=table in earlier,
            )
            for table, dataset in datasets.items()
            if table not in taken and names.instance.contains(table)
        },
    )
    renamed = matches.datasets
    return KnownTables(
        tables=[replace(table, id=renamed.get(table.id, table.id)) for table in tables],
        matched=renamed,
        unclear=matches.unclear,
    )


def select_known(
    known: KnownTables, datasets: Mapping[TableId, Dataset], *, filtered: bool, warn: Warn
) -> KnownTables:
    """Keep the tables that have a dataset in DataHub; unless `filtered`, warn about other tables.

    Args:
        known: The tables under the names of their datasets.
        datasets: The datasets.
        filtered: Whether the recipe leaves out datasets on purpose. Then nothing is reported: the
            datasets that it excludes cannot be distinguished from unknown ones.
        warn: Receives the tables without a dataset.

    Returns:
        The tables that have a dataset.

    Raises:
        UnknownDatasetsError: No table has one.
    """
    selected = [table for table in known.tables if table.id in datasets]
    unknown = [table.id for table in known.tables if table.id not in datasets]
    if not selected and unknown:
        first = unknown[0]
        if known.unclear:
            raise UnknownDatasetsError.unclear(_list_unclear(known.unclear))
        raise UnknownDatasetsError.on_platform(first.platform, first.env, example=first.name)
    if filtered:
        logger.info("%s tables are unknown or excluded by domain, container or tag", len(unknown))
        return replace(known, tables=selected)
    if known.unclear:
        warn(
            "Dataset of a file unclear",
            "These files are skipped, since several datasets may be theirs. Set `catalog.names` "
            "to the names that the right datasets have, as in `mnt/lake/{table}`",
            _list_unclear(known.unclear),
        )
    missing = [str(table) for table in unknown if table not in known.unclear]
    if missing:
        warn(
            "Tables not in the catalog",
            "These tables are skipped. Ingest them with their own source, or set "
            "`catalog.known_only: false`",
            name_some(missing),
        )
    return replace(known, tables=selected)


def _list_unclear(unclear: Mapping[TableId, Sequence[TableId]]) -> str:
    lines = [
        f"{file} may be {name_some(sorted(map(str, datasets)), most=3)}"
        for file, datasets in sorted(unclear.items())
    ]
    return name_some(lines)


def _file_path(table: Table, names: FolderNames) -> FilePath | None:
    """Return the path of a table's file; None for a table outside the local folder."""
    location = table.location
    match location:
        # The file of a database is no table.
        case File(member=(_, _)):
            return None
        case File() | Folder() | DeltaFolder() | IcebergFolder():
            path, root = local_path(location.uri), names.folder.resolve()
        case Relation() | CatalogTable() | IcebergDataFile() | WorkbookSheet():
            return None
        case _:
            assert_never(location)
    if is_remote(location.uri) or not path.is_relative_to(root):
        return None
    return FilePath(
        parts=names.parts_of(table.id) if names.stated else path.parts[1:],
        below=len(path.relative_to(root).parts),
        columns=partial(_read_columns, table),
    )


def _read_columns(table: Table) -> frozenset[str]:
    try:
        with Databases() as databases:
            stream = read_table(table, databases, max_rows=1)
    except TableError:
        return frozenset()
    with closing(stream.batches):
        return frozenset(column.path for column in stream.columns)


def _leaves(paths: Iterable[str]) -> frozenset[str]:
    """Drop each struct's path if the given column paths include paths of the struct's members."""
    columns = {*paths}
    structs = {path.rpartition(".")[0] for path in columns}
    return frozenset(columns - structs)
