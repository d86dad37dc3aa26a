"""Find the dataset of each table of a run, and leave out tables without a dataset."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from typing_extensions import assert_never

from datahub_hyperjoin.catalog.datasets import Dataset, PlatformInstance
from datahub_hyperjoin.catalog.elsewhere import Places, describe_elsewhere
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
from datahub_hyperjoin.spellings import match_spellings
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
        """Return the name of a table as a path, without the platform instance."""
        prefix = f"{self.instance.instance}." if self.instance.instance else ""
        return tuple(table.name.removeprefix(prefix).split("/"))


@dataclass(frozen=True, kw_only=True)
class KnownTables:
    """The tables of a run, with the names of their datasets."""

    tables: Sequence[Table]
    """All tables, under the names of their datasets; a table without a dataset keeps its own name.
    """

    matched: Mapping[TableId, TableId] = field(default_factory=dict)
    """Maps a table to its dataset, for each table whose dataset has another name."""

    unclear: Mapping[TableId, Sequence[TableId]] = field(default_factory=dict)
    """For each file whose dataset a person has to choose, the possible datasets."""

    alike: Mapping[TableId, Sequence[TableId]] = field(default_factory=dict)
    """For each other table whose dataset is not clear, the datasets of the same letters in another
    case."""


def find_datasets(
    tables: Sequence[Table],
    datasets: Mapping[TableId, Dataset],
    *,
    names: FolderNames | None,
    earlier: Collection[TableId],
) -> KnownTables:
    """Find the dataset of each table, first by the table's name, then by the path of its file.

    DataHub may have the name of a table in another case.

    Headers of files are read only if a dataset does not have the file's whole path as its name.

    Args:
        names: How files are named; None if the recipe has no local folder.
        earlier: Tables about which the last run wrote anything; of datasets that match a file
            equally well, theirs is preferred.
    """
    files = {
        table.id: file
        for table in tables
        if names and table.id not in datasets and (file := _file_path(table, names))
    }
    others = [table.id for table in tables if table.id not in files]
    spelled = match_spellings(others, [*datasets], _folded)
    renamed = {own: known for own, known in spelled.matched.items() if own != known}
    known = KnownTables(tables=_renamed(tables, renamed), matched=renamed, alike=spelled.unclear)
    return _with_files(known, files, datasets, names, earlier) if names and files else known


def _folded(table: TableId) -> TableId:
    return replace(table, name=table.name.casefold())


def _renamed(tables: Sequence[Table], names: Mapping[TableId, TableId]) -> Sequence[Table]:
    return [replace(table, id=names.get(table.id, table.id)) for table in tables]


def _with_files(
    known: KnownTables,
    files: Mapping[TableId, FilePath],
    datasets: Mapping[TableId, Dataset],
    names: FolderNames,
    earlier: Collection[TableId],
) -> KnownTables:
    """Find the datasets of files by their paths."""
    taken = {table.id for table in known.tables}
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
    return replace(
        known,
        tables=_renamed(known.tables, matches.datasets),
        matched={**known.matched, **matches.datasets},
        unclear=matches.unclear,
    )


def select_known(
    known: KnownTables,
    datasets: Mapping[TableId, Dataset],
    *,
    filtered: bool,
    elsewhere: Callable[[Sequence[Table]], Places],
    warn: Warn,
) -> KnownTables:
    """Keep the tables that have a dataset in DataHub; unless `filtered`, warn about other tables.

    Args:
        filtered: Whether the recipe leaves out datasets on purpose. Then nothing is reported: the
            datasets that it excludes cannot be distinguished from unknown ones.
    """
    selected = [table for table in known.tables if table.id in datasets]
    unknown = [table for table in known.tables if table.id not in datasets]
    missing = [each for each in unknown if each.id not in {*known.unclear, *known.alike}]
    if not selected and unknown:
        first = unknown[0].id
        if known.unclear:
            raise UnknownDatasetsError.unclear(_list_unclear(known.unclear))
        if known.alike:
            raise UnknownDatasetsError.alike(_list_unclear(known.alike))
        raise UnknownDatasetsError.on_platform(
            first.platform,
            first.env,
            example=first.name,
            places="" if filtered else describe_elsewhere(missing, elsewhere(missing)),
        )
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
    if known.alike:
        warn(
            "Dataset of a table unclear",
            "These tables are skipped: DataHub has their names in another case, and more than one "
            "table or dataset has the same letters. Keep one dataset for each table in DataHub, or "
            "ingest the tables with their names as they are",
            _list_unclear(known.alike),
        )
    if missing:
        places = describe_elsewhere(missing, elsewhere(missing))
        warn(
            "Tables not in the catalog",
            "These tables are skipped. Ingest them with their own source, or set "
            "`catalog.known_only: false`",
            f"{name_some([str(table.id) for table in missing])}. {places}".removesuffix(". "),
        )
    return replace(known, tables=selected)


def _list_unclear(unclear: Mapping[TableId, Sequence[TableId]]) -> str:
    lines = [
        f"{table} may be {name_some(sorted(map(str, datasets)), most=3)}"
        for table, datasets in sorted(unclear.items())
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
