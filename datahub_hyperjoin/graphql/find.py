"""Find a join, a dataset or a column by the name that the user gave.

The functions that begin with `choose` need no server: they choose among the names that they get.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.graphql.errors import (
    THE_CATALOG,
    AmbiguousColumnError,
    UnknownNameError,
)
from datahub_hyperjoin.graphql.operations import execute, parsing, search
from datahub_hyperjoin.graphql.read import all_joins, read_columns, read_join, read_joins
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.joins.paths import PathEnd
from datahub_hyperjoin.metadata.urns import column_id, plain_path, table_id
from datahub_hyperjoin.names import best_fits, ends_in, names_table, split_column, without_extension
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import visible

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

_JOIN, _DATASET, _COLUMN = "join", "dataset", "column"
_COLUMN_URN = "urn:li:schemaField:"
_EQUALS = re.compile(r" (?:=|→|←|->|<-) ")
"""Operators of a join condition, as `hyperjoin joins` shows them or people type them."""

_ENDS = re.compile(" = | and ")
_BROKEN = re.compile(r"\s*\n\s*")  # a narrow terminal shows a condition in several lines
"""Separators of the columns in a join condition."""

_OFFERED = 3
"""Maximum number of similar names that an error message offers."""

NamedDataset = tuple[str, str]
"""URN of a dataset and the title that DataHub's pages show; empty without a title."""


def find_join(graph: "DataHubGraph", name_or_urn: str) -> Join:
    """Find a join by its URN, name, title or condition.

    The search by name covers most joins with one request. Names that it does not match, such as the
    title that a person gave or tables without their database, are looked up among all joins.

    Args:
        graph: DataHub's server.
        name_or_urn: URN, name or title of the join, or its condition with either side first, whose
            tables may be the last parts of their names.

    Returns:
        The join as DataHub stores it.

    Raises:
        UnknownNameError: No join matches, or more than one.
    """
    name = _BROKEN.sub(" ", name_or_urn.strip())
    if name.startswith("urn:li:erModelRelationship:"):
        data = execute(graph, "join", join=name)
        with parsing("join"):
            join = read_join(data["erModelRelationship"])
        if join is None:
            raise UnknownNameError.nothing(_JOIN, name, near=())
        return join
    spellings = _spellings(name)
    # The index may match more than the exact name.
    named = read_joins(search(graph, "joins_by_name", names=spellings))
    matches = [join for join in named if join.name in spellings]
    return choose_join(name, matches or all_joins(graph, hidden=True))


def choose_join(
    name_or_urn: str,
    joins: Sequence[Join],
    *,
    where: str = THE_CATALOG,
    titles: Mapping[TableId, str] = MappingProxyType({}),
) -> Join:
    """Choose the join that a URN, name, title or condition refers to.

    In a condition, tables may have their titles.
    """
    name = _BROKEN.sub(" ", name_or_urn.strip())
    spellings = _spellings(name)
    named = [(join, _names_of(join, titles)) for join in joins]
    matches = best_fits(
        named,
        lambda it: it[0].urn == name,
        lambda it: not it[1].isdisjoint(spellings),
        lambda it: any(_is_short_for(one, full) for one in spellings for full in it[1]),
    )
    if len(matches) > 1:
        raise UnknownNameError.several(_JOIN, name, urns=sorted(join.urn for join, _ in matches))
    if not matches:
        all_names = sorted({other for join, _ in named for other in _names_of(join) if other})
        near = find_near(name, all_names)
        raise UnknownNameError.nothing(_JOIN, name, near=near, where=where)
    return matches[0][0]


def _spellings(name: str) -> list[str]:
    """List the ways in which the catalog may spell a join's name.

    A join condition may have either side first; any other name has only one spelling.

    >>> _spellings("orders.customer → customers.id")[1:]
    ['orders.customer = customers.id', 'customers.id = orders.customer']
    """
    parts = [name] if len(_EQUALS.findall(name)) == 1 else name.split(" and ")
    pairs = [_EQUALS.split(part) for part in parts]
    if any(len(pair) != len(("left", "right")) for pair in pairs):
        return [name]
    sides = (pairs, [pair[::-1] for pair in pairs])
    conditions = (" and ".join(" = ".join(pair) for pair in side) for side in sides)
    return [*dict.fromkeys([name, *conditions])]


def _names_of(join: Join, titles: Mapping[TableId, str] = MappingProxyType({})) -> set[str]:
    """Return the names of a join, also as lists show them."""
    title = join.published.title if join.published else ""
    names = {join.name, title, join.condition, join.reversed.condition}
    stems = {table: without_extension(table.name) for table in join.tables}
    names |= {
        " and ".join(
            " = ".join(f"{called[end.table]}.{end.path}" for end in pair) for pair in pairs
        )
        for called in (stems, {table: titles.get(table, table.name) for table in join.tables})
        for pairs in (join.pairs, join.reversed.pairs)
    }
    return names.union(map(visible, names))


def _is_short_for(short: str, name: str) -> bool:
    """Return whether two conditions are equal, except that the first may shorten table names.

    >>> _is_short_for("orders.customer = customers.id", "shop.orders.customer = shop.customers.id")
    True
    >>> _is_short_for("orders.id = customers.id", "shop.back_orders.id = shop.customers.id")
    False
    """
    parts, wholes = (_ENDS.split(text) for text in (short, name))
    return len(parts) == len(wholes) > 1 and all(
        whole == part or ("." in part and ends_in(whole, part))
        for part, whole in zip(parts, wholes, strict=True)
    )


def find_near(name: str, candidates: Sequence[str]) -> list[str]:
    """Return the names among `candidates` that are similar to a given name.

    A candidate is similar if it contains the given name. If none does, candidates with similar
    spelling are returned.

    >>> find_near("orders", ["shop.customers", "shop.orders"])
    ['shop.orders']
    >>> find_near("shop.ordres", ["shop.customers", "shop.orders"])
    ['shop.orders']
    """
    folded = name.casefold()
    containing = [candidate for candidate in candidates if folded in candidate.casefold()]
    return (containing or get_close_matches(name, candidates, n=_OFFERED))[:_OFFERED]


def find_dataset(graph: "DataHubGraph", name_or_urn: str) -> str:
    """Find a dataset by its URN, title or full name, and return the URN.

    The end of a full name is enough if it is unique.

    Args:
        graph: DataHub's server.
        name_or_urn: URN, full name, title, or the last parts of the full name.

    Returns:
        URN of the dataset.

    Raises:
        UnknownNameError: No dataset matches, or more than one.
    """
    name = name_or_urn.strip()
    return choose_dataset(name, _find_named_datasets(graph, name))


def _find_named_datasets(graph: "DataHubGraph", name: str) -> list[NamedDataset]:
    """Find the datasets that a name may refer to; a URN is not looked up."""
    if name.startswith("urn:li:"):
        return [(name, "")] if _is_dataset(name) else []
    words = " ".join(re.findall(r"[\w.]+", name)) or "*"
    found = search(graph, "datasets_by_name", words=words)
    with parsing("datasets_by_name"):
        return [
            (entity["urn"], str((entity.get("properties") or {}).get("name") or ""))
            for entity in found
            if entity and _is_dataset(entity["urn"])
        ]


def _is_dataset(urn: str) -> bool:
    """Return whether a URN names a dataset."""
    # Older clients wrote some that today's client refuses.
    try:
        table_id(urn)
    except InvalidUrnError:
        return False
    return True


def choose_dataset(
    name: str, candidates: Sequence[NamedDataset], *, where: str = THE_CATALOG
) -> str:
    """Choose the dataset that a name refers to, and return its URN."""
    urns = _match_datasets(name, candidates)
    if len(urns) > 1:
        raise UnknownNameError.several(_DATASET, name, urns=urns)
    if not urns:
        near = find_near(name, sorted({table_id(urn).name for urn, _ in candidates}))
        raise UnknownNameError.nothing(_DATASET, name, near=near, where=where)
    return urns[0]


def _match_datasets(name: str, candidates: Sequence[NamedDataset]) -> list[str]:
    """Return the URNs of the datasets that a name refers to."""
    # The URN, the full name, the title, either name in any case, and the end of the full name.
    folded = name.casefold()
    named = [(urn, table_id(urn).name, title) for urn, title in candidates]
    matches = best_fits(
        named,
        lambda it: it[0] == name,
        lambda it: it[1] == name,
        lambda it: it[2] == name,
        lambda it: folded in {it[1].casefold(), it[2].casefold()},
        lambda it: names_table(folded, it[1].casefold()),
    )
    return sorted({urn for urn, *_ in matches})


def find_path_end(graph: "DataHubGraph", name_or_urn: str, joins: Iterable[Join]) -> PathEnd:
    """Find the dataset or column that a name refers to."""

    def columns_of(urn: str) -> set[str]:
        table = table_id(urn)
        return set(read_columns(graph, urn)).union(*(join.paths_in(table) for join in joins))

    return choose_path_end(name_or_urn, partial(_find_named_datasets, graph), columns_of)


def choose_path_end(
    name_or_urn: str,
    find_named: Callable[[str], Sequence[NamedDataset]],
    columns_of: Callable[[str], Collection[str]],
    *,
    where: str = THE_CATALOG,
) -> PathEnd:
    """Choose the dataset or column that a name refers to.

    Args:
        name_or_urn: URN or name of a dataset, or of a column.
        find_named: Returns the datasets to which a name may refer.
        columns_of: Returns the paths of the columns of a dataset by its URN.
        where: Where the joins are from, in words.
    """
    # Names of datasets and paths of columns may both contain dots. A name is taken for that of a
    # dataset if there is one; otherwise the longest part before a dot that names a dataset counts,
    # and what follows is the column.
    name = name_or_urn.strip()
    if name.startswith(_COLUMN_URN):
        return _parse_column(name)
    for dataset, column in ((name, ""), *split_column(name)):
        candidates = find_named(dataset)
        if _match_datasets(dataset, candidates):
            urn = choose_dataset(dataset, candidates, where=where)
            table = table_id(urn)
            return (
                ColumnId(table, _choose_path(column, columns_of(urn), table)) if column else table
            )
    return table_id(choose_dataset(name, find_named(name), where=where))


def _parse_column(urn: str) -> ColumnId:
    try:
        return column_id(urn)
    except InvalidUrnError as error:
        raise UnknownNameError.nothing(_COLUMN, urn, near=()) from error


def _choose_path(name: str, known: Collection[str], table: TableId) -> str:
    path = choose_column(name, known, table.name)
    if path is None:
        near = find_near(name, sorted(known)) or sorted(known)
        raise UnknownNameError.column(name, table.name, near=near)
    return path


def choose_column(name: str, known: Collection[str], table: str) -> str | None:
    """Choose the column that a name refers to."""
    # The whole name, the name in any case, and the last part of the name of a struct's member.
    path = plain_path(name.strip())
    folded = path.casefold()
    matches = best_fits(
        sorted(known),
        lambda column: column == path,
        lambda column: column.casefold() == folded,
        lambda column: column.casefold().rpartition(".")[2] == folded,
    )
    if len(matches) > 1:
        raise AmbiguousColumnError.among(name, table, matches)
    return matches[0] if matches else None
