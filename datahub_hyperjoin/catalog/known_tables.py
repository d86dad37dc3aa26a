"""Find the dataset of each table of a run, and leave out tables without a dataset."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Generic, TypeVar

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import DataPlatformInstanceClass, DatasetKeyClass, StatusClass
from datahub.metadata.urns import DataPlatformInstanceUrn, DataPlatformUrn
from datahub.utilities.urns.error import InvalidUrnError
from typing_extensions import assert_never

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.entities import Aspects, aspect_of, is_removed, scroll
from datahub_hyperjoin.catalog.errors import UnknownDatasetsError
from datahub_hyperjoin.catalog.files import split_name
from datahub_hyperjoin.catalog.scope import FolderNames, PlatformInstance
from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
    is_remote,
)
from datahub_hyperjoin.metadata.urns import table_id
from datahub_hyperjoin.names import match_spellings
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.files.formats import format_of
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.visible import logger_of
from datahub_hyperjoin.wording import join_with_and, name_some

logger = logger_of(__name__)


Places = Mapping[TableId, Sequence[PlatformInstance]]
"""The places of each table that DataHub has elsewhere."""


def find_elsewhere(
    graph: DataHubGraph, missing: Sequence[Table]
) -> dict[TableId, Sequence[PlatformInstance]]:
    """Find the platform instances and environments in which DataHub has tables."""
    wanted = defaultdict(list)
    for table in missing:
        name = table.id.name.removeprefix(f"{table.instance}." if table.instance else "")
        wanted[table.id.platform, name.casefold()].append(table)
    platforms = sorted({DataPlatformUrn(table.id.platform).urn() for table in missing})
    filters: RawSearchFilter = [{"and": [{"field": "platform", "values": platforms}]}]
    # Every dataset has a key, so that none is left out for lack of the other two.
    kinds = (DatasetKeyClass, DataPlatformInstanceClass, StatusClass)
    names = [kind.ASPECT_NAME for kind in kinds]
    found: dict[TableId, set[PlatformInstance]] = defaultdict(set)
    for urn, aspects in scroll(graph, "dataset", names, filters=filters):
        if is_removed(aspects):
            continue
        for place, name in _places(urn, aspects):
            for table in wanted.get((place.platform, name.casefold()), ()):
                if (place.env, place.instance or "") != (table.id.env, table.instance):
                    found[table.id].add(place)
    return {
        table: sorted(places, key=lambda place: (place.env, place.instance or ""))
        for table, places in found.items()
    }


def _places(urn: str, aspects: Aspects) -> Iterator[tuple[PlatformInstance, str]]:
    """Yield the places in which a dataset may be, with the name that it has there."""
    declared = aspect_of(aspects, DataPlatformInstanceClass)
    named = declared.instance if declared else None
    try:
        table = table_id(urn)
        instance = DataPlatformInstanceUrn.from_string(named).instance if named else ""
    except InvalidUrnError:
        return
    first, _, rest = table.name.partition(".")
    place = PlatformInstance(platform=table.platform, env=table.env)
    if instance:
        start = f"{instance}."
        begins = table.name.casefold().startswith(start.casefold())
        yield replace(place, instance=instance), table.name[len(start) if begins else 0 :]
        return
    yield place, table.name
    # Connectors of older versions named the instance in the name alone.
    if rest:
        yield replace(place, instance=first), rest


def _describe_elsewhere(missing: Sequence[Table], places: Places) -> str:
    """Say where DataHub has tables, and which keys of the recipe to set."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for table in missing:
        if table.id in places:
            ways = (_way(table, place) for place in places[table.id])
            found[tuple(dict.fromkeys(ways))].append(str(table.id))
    return " ".join(
        f"DataHub has {name_some(names)} {' or '.join(ways)}." for ways, names in found.items()
    )


def _way(table: Table, place: PlatformInstance) -> str:
    ways = []
    # The recipe key of the folder's tables is `catalog.tables`; its place has keys of their own.
    source = table.chosen_by.removesuffix("tables").removeprefix("catalog.")
    if (instance := place.instance or "") != table.instance:
        key = f"{source}platform_instance"
        named = f"in the platform instance {instance!r}", f"set `{key}: {instance}`"
        ways.append(named if instance else ("without a platform instance", f"remove `{key}`"))
    if place.env != table.id.env:
        ways.append((f"in env {place.env!r}", f"set `{source}env: {place.env}`"))
    where, keys = zip(*ways, strict=True)
    return f"{' '.join(where)}: {join_with_and(keys)}"


_File = TypeVar("_File", bound=Hashable)
_Dataset = TypeVar("_Dataset", bound=Hashable)

# DataHub's connectors name the dataset of a file by its whole path, as in `data/lake/orders.csv`.
# The connector may have read the lake in another folder than this run. Some omit the extension.

_SIMILAR = 0.5
"""Minimum share of columns that a file and a dataset must have in common. It is below 1, because a
table may have changed since its connector read it."""
_Rank = tuple[int, int, bool, bool, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePath:
    """The path of a table's file or folder, and the table's columns."""

    parts: tuple[str, ...]
    """Names of the folders and of the file, without the root."""

    below: int
    """Number of names in `parts` that are below the recipe's folder."""

    columns: Callable[[], frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPath:
    """The name of a dataset as a path, and the dataset's columns."""

    parts: tuple[str, ...]
    columns: frozenset[str]
    is_earlier: bool = False
    """Whether an earlier run has written suggestions for this dataset."""


@dataclass(frozen=True, slots=True)
class _Candidate(Generic[_Dataset]):
    dataset: _Dataset
    rank: _Rank
    is_likely: bool = True


def match_paths(
    files: Mapping[_File, FilePath], datasets: Mapping[_Dataset, DatasetPath]
) -> tuple[dict[_File, _Dataset], dict[_File, tuple[_Dataset, ...]]]:
    """Return the dataset of each file that has one, and the possible ones of ambiguous files."""
    # No two files have the same dataset.
    # If a dataset's name is the file's whole path, it is the dataset of that file. Otherwise
    # the longest common end decides. It must contain all names below the recipe's folder, or
    # the dataset's whole name; `2023/sales.csv` is not `2024/sales.csv`. The columns must be
    # similar. If only one name is common, the columns must be the same.
    by_title: dict[str, list[_Dataset]] = defaultdict(list)
    for dataset, path in datasets.items():
        if path.parts:
            by_title[_title(path.parts[-1])].append(dataset)
    found = {
        file: _candidates(path, {one: datasets[one] for one in by_title[_title(path.parts[-1])]})
        for file, path in files.items()
    }
    likely = {file: _best(one for one in some if one.is_likely) for file, some in found.items()}
    matched, contested = _assign(likely)
    taken = {*matched.values()}
    unclear = {
        file: tuple(
            one.dataset for one in (contested.get(file) or found[file]) if one.dataset not in taken
        )
        for file in files
        if file not in matched
    }
    return matched, {file: some for file, some in unclear.items() if some}


def count_common(path: Sequence[str], name: Sequence[str]) -> int:
    """Count the trailing components that two paths share.

    >>> count_common(("lake", "shop", "a.csv"), ("data", "shop", "a.csv"))
    2
    >>> count_common(("lake", "shop", "a.csv.gz"), ("data", "shop", "a"))
    2
    >>> count_common(("shop", "a.csv"), ("shop", "a.parquet"))
    0
    """
    if not path or not name or name[-1] not in {path[-1], split_name(path[-1])[0]}:
        return 0
    folders = zip(reversed(path[:-1]), reversed(name[:-1]), strict=False)
    return 1 + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], folders))


def _title(name: str) -> str:
    return split_name(name)[0].casefold()


def _candidates(
    file: FilePath, datasets: Mapping[_Dataset, DatasetPath]
) -> list[_Candidate[_Dataset]]:
    own = [one for one, path in datasets.items() if path.parts == file.parts]
    if own:
        return [_Candidate(own[0], (len(file.parts), 0, True, True, True))]
    folded = _folded(file.parts)
    commons = {
        one: common
        for one, path in datasets.items()
        if (common := count_common(folded, _folded(path.parts)))
    }
    columns, found = {*_folded(file.columns())} if commons else set[str](), []
    for one, common in commons.items():
        path, described = datasets[one], {*_folded(datasets[one].columns)}
        is_same = columns == described
        shared = len(columns & described)
        # Nothing but the path vouches for a file whose columns cannot be read.
        may_be = not columns or shared / len(columns | described) >= _SIMILAR
        is_whole = common >= min(file.below, len(path.parts))
        is_likely = is_whole and (is_same or common > 1)
        if may_be and (is_likely or is_same):
            exact = count_common(file.parts, path.parts)
            with_extension = file.parts[-1] == path.parts[-1]
            rank = (common, exact, with_extension, is_same, path.is_earlier)
            found.append(_Candidate(one, rank, is_likely=is_likely))
    return found


def _folded(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.casefold() for name in names)


def _best(candidates: Iterable[_Candidate[_Dataset]]) -> list[_Candidate[_Dataset]]:
    candidates = list(candidates)
    best = max((one.rank for one in candidates), default=None)
    return [one for one in candidates if one.rank == best]


def _assign(
    candidates: Mapping[_File, Sequence[_Candidate[_Dataset]]],
) -> tuple[dict[_File, _Dataset], dict[_File, list[_Candidate[_Dataset]]]]:
    """Assign each dataset to the file that matches it best; also return ambiguous files."""
    levels: dict[_Rank, list[_File]] = defaultdict(list)
    for file, some in candidates.items():
        if some:
            levels[some[0].rank].append(file)
    matched: dict[_File, _Dataset] = {}
    contested: dict[_File, list[_Candidate[_Dataset]]] = {}
    taken: set[_Dataset] = set()
    for rank in sorted(levels, reverse=True):
        free = {
            file: [one for one in candidates[file] if one.dataset not in taken]
            for file in levels[rank]
        }
        wanted = Counter(one.dataset for some in free.values() for one in some)
        for file, some in free.items():
            if len(some) == 1 and wanted[some[0].dataset] == 1:
                matched[file] = some[0].dataset
            elif some:
                contested[file] = some
        taken |= wanted.keys()
    return matched, contested


@dataclass(frozen=True, kw_only=True)
class KnownTables:
    """The tables of a run, with the names of their datasets."""

    tables: Sequence[Table]
    """All tables, under the names of their datasets; a table without a dataset keeps its own name.
    """

    matched: Mapping[TableId, TableId] = field(default_factory=dict)
    """Maps a table to its dataset, for each table whose dataset has another name."""

    unclear: Mapping[TableId, Sequence[TableId]] = field(default_factory=dict)
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
    """Find the dataset of each table, first by the table's name, then by the path of its file."""
    # Headers of files are read only if a dataset does not have the file's whole path as its
    # name.
    files = {
        table.id: file
        for table in tables
        if names and table.id not in datasets and (file := _file_path(table, names))
    }
    others = [table.id for table in tables if table.id not in files]
    spelled = match_spellings(others, [*datasets], _folded_name)
    renamed = {own: known for own, known in spelled.matched.items() if own != known}
    known = KnownTables(tables=_renamed(tables, renamed), matched=renamed, alike=spelled.unclear)
    return _with_files(known, files, datasets, names, earlier) if names and files else known


def _folded_name(table: TableId) -> TableId:
    return replace(table, name=table.name.casefold())


def _renamed(tables: Sequence[Table], names: Mapping[TableId, TableId]) -> Sequence[Table]:
    return [_called(table, names[table.id]) if table.id in names else table for table in tables]


def _called(table: Table, dataset: TableId) -> Table:
    # The datasets of older files are called as that of the newest.
    above = dataset.name.removesuffix(table.id.name)
    members = (replace(dataset, name=f"{above}{each.name}") for each in table.members)
    is_alike = dataset.name.endswith(table.id.name)
    return replace(table, id=dataset, members=tuple(members) if is_alike else ())


def _with_files(
    known: KnownTables,
    files: Mapping[TableId, FilePath],
    datasets: Mapping[TableId, Dataset],
    names: FolderNames,
    earlier: Collection[TableId],
) -> KnownTables:
    taken = {table.id for table in known.tables}
    paths = {
        table: DatasetPath(
            parts=names.parts_of(table),
            columns=_leaves(path for path, _ in dataset.columns),
            is_earlier=table in earlier,
        )
        for table, dataset in datasets.items()
        if table not in taken and names.instance.contains(table)
    }
    matched, unclear = match_paths(files, paths)
    # All files of a folder may be one dataset, if a connector read them with `path_specs`.
    rest = [table for table in known.tables if table.id in {*files} - {*matched, *unclear}]
    folders = {each.id: path for each in rest if (path := _folder_path(each, names))}
    free = {table: path for table, path in paths.items() if table not in {*matched.values()}}
    of_folders, unclear_folders = match_paths(folders, free)
    matched, unclear = {**matched, **of_folders}, {**unclear, **unclear_folders}
    return replace(
        known,
        tables=_renamed(known.tables, matched),
        matched={**known.matched, **matched},
        unclear=unclear,
    )


def select_known(
    known: KnownTables,
    datasets: Mapping[TableId, Dataset],
    *,
    filtered: bool,
    elsewhere: Callable[[Sequence[Table]], Places],
    warn: Warn,
) -> KnownTables:
    """Keep the tables that have a dataset in DataHub; unless `filtered`, warn of the others."""
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
            places="" if filtered else _describe_elsewhere(missing, elsewhere(missing)),
        )
    if filtered:  # what it excludes cannot be told from what is unknown
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
        places = _describe_elsewhere(missing, elsewhere(missing))
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


def _folder_path(table: Table, names: FolderNames) -> FilePath | None:
    """Return the path of the folder of a table of several files; None for other tables."""
    location, file = table.location, _file_path(table, names)
    if not file or not isinstance(location, Folder) or not location.newest:
        return None
    inner = location.newest.count("/") + 1
    return replace(file, parts=file.parts[:-inner], below=file.below - inner)


def _file_path(table: Table, names: FolderNames) -> FilePath | None:
    """Return the path of a table's file; None for a table outside the local folder."""
    location = table.location
    match location:
        # The file of a database or workbook is no table.
        case File(member=(_, *_)) | Relation() | CatalogTable() | IcebergDataFile():
            return None
        case Folder(newest=newest) if newest and format_of(location).has_members:
            return None
        case File() | Folder() | DeltaFolder() | IcebergFolder():
            newest = location.newest if isinstance(location, Folder) else ""
            path, root = local_path(location.uri) / newest, names.folder.resolve()
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
