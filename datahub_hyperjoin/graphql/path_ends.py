"""Find the ends of a path, which are tables or columns, by the names that the user gave."""

from collections.abc import Collection, Iterable

from datahub.ingestion.graph.client import DataHubGraph
from datahub.utilities.urns.error import InvalidUrnError
from typing_extensions import assert_never

from datahub_hyperjoin.graphql.datasets import read_columns
from datahub_hyperjoin.graphql.errors import AmbiguousColumnError, UnknownNameError
from datahub_hyperjoin.graphql.find import (
    choose_dataset,
    find_named_datasets,
    find_near,
    match_datasets,
)
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.metadata.urns import column_id, plain_path, table_id
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.typed_names import split_column

PathEnd = TableId | ColumnId
"""The start or end of a path: a table, or a column that the first or last join must compare."""

_COLUMN, _COLUMN_URN = "column", "urn:li:schemaField:"


def table_of(end: PathEnd) -> TableId:
    """Return the table at an end of a path."""
    match end:
        case TableId():
            return end
        case ColumnId():
            return end.table
        case _:
            assert_never(end)


def fits_end(join: CatalogJoin, end: PathEnd) -> bool:
    """Return whether a path with the given end may use a join.

    At the table of a named column, only joins over this column fit. A path visits its end once, so
    the other joins of that table are of no use elsewhere either.

    Args:
        end: The first or the last table of the path, or a column of it.
    """
    match end:
        case TableId():
            return True
        case ColumnId():
            return end.table not in join.tables or any(end in pair for pair in join.pairs)
        case _:
            assert_never(end)


def find_path_end(graph: DataHubGraph, name_or_urn: str, joins: Iterable[CatalogJoin]) -> PathEnd:
    """Find the dataset or column that a name refers to.

    Names of datasets and paths of columns may both contain dots. A name is taken for that of a
    dataset if there is one; otherwise the longest part before a dot that names a dataset counts,
    and what follows is the column.

    Args:
        name_or_urn: Name or URN of a dataset, a name or URN with `.column` behind it, or the URN of
            a column.
        joins: All joins of the catalog. DataHub may not know the columns of a dataset.
    """
    name = name_or_urn.strip()
    if name.startswith(_COLUMN_URN):
        return _parse_column(name)
    for dataset, column in ((name, ""), *split_column(name)):
        candidates = find_named_datasets(graph, dataset)
        if match_datasets(dataset, candidates):
            urn = choose_dataset(dataset, candidates)
            return _find_column(graph, urn, column, joins) if column else table_id(urn)
    return table_id(choose_dataset(name, find_named_datasets(graph, name)))


def _parse_column(urn: str) -> ColumnId:
    try:
        return column_id(urn)
    except InvalidUrnError as error:
        raise UnknownNameError.nothing(_COLUMN, urn, near=()) from error


def _find_column(
    graph: DataHubGraph, urn: str, name: str, joins: Iterable[CatalogJoin]
) -> ColumnId:
    table = table_id(urn)
    joined = (column for join in joins for pair in join.pairs for column in pair)
    known = {column.path for column in joined if column.table == table}
    known.update(read_columns(graph, urn))
    path = choose_column(name, known, table.name)
    if path is None:
        near = find_near(name, sorted(known)) or sorted(known)
        raise UnknownNameError.column(name, table.name, near=near)
    return ColumnId(table, path)


def choose_column(name: str, known: Collection[str], table: str) -> str | None:
    """Choose the column that a name refers to.

    The rules are tried from the strictest to the loosest: the whole name, the name in any case, and
    the last part of the name of a struct's member. The first rule with a match decides.

    Args:
        name: Path of the column, with or without DataHub's annotations.

    Returns:
        Plain path of the column; None if no column matches.
    """
    path = plain_path(name.strip())
    folded = path.casefold()
    rules = (
        [column for column in known if column == path],
        [column for column in known if column.casefold() == folded],
        [column for column in known if column.casefold().rpartition(".")[2] == folded],
    )
    matches = sorted(next(filter(None, rules), []))
    if len(matches) > 1:
        raise AmbiguousColumnError.among(name, table, matches)
    return matches[0] if matches else None
