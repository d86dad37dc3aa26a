"""Find a join, a dataset or a column by the name that the user gave.

The functions that begin with `choose` need no server: they choose among the names that they get.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.graphql.errors import (
    THE_CATALOG,
    AmbiguousColumnError,
    UnknownNameError,
)
from datahub_hyperjoin.graphql.operations import execute, parsing, search
from datahub_hyperjoin.graphql.pairs import COLUMN_URN, is_pair, pair_as_join, parse_column
from datahub_hyperjoin.graphql.read import (
    all_joins,
    joins_of_dataset,
    read_columns,
    read_join,
    read_joins,
)
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.joins.paths import PathEnd
from datahub_hyperjoin.metadata.urns import column_id, dataset_urn, plain_path, table_id
from datahub_hyperjoin.names import best_fits, ends_in, names_table, split_column, without_extension
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of
from datahub_hyperjoin.visible import visible

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

_JOIN, _DATASET, _COLUMN = "join", "dataset", "column"
_EQUALS = re.compile(r" (?:=|→|←|->|<-) ")
"""Operators of a join condition, as `hyperjoin joins` shows them or people type them."""

_BROKEN = re.compile(r"\s*\n\s*")  # a narrow terminal shows a condition in several lines

_OFFERED = 3
"""Maximum number of similar names that an error message offers."""

_LIKE, _SIMILAR = 4, 100
"""Number of letters with which similar names of datasets begin, and maximum number of them."""

_NEAREST = 5
"""Maximum number of columns that an error message offers."""

NamedDataset = tuple[str, str]
"""URN of a dataset and the title that DataHub's pages show; empty without a title."""


def find_join(graph: "DataHubGraph", name_or_urn: str) -> Join:
    """Find a join by its URN, name, title or condition.

    The search by name covers most joins with one request. A condition that it does not match, such
    as one of tables without their database, is looked up among the joins of its first table, and
    any other name, such as the title that a person gave, among all joins. A condition may also be
    that of two columns without a relationship, if one lists the other or people decided about them.

    Args:
        graph: DataHub's server.
        name_or_urn: URN, name or title of the join, or its condition with either side first, whose
            tables may be the last parts of their names, and whose columns may be URNs.

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
    if is_pair(name):
        return _find_by_columns(graph, name)
    spellings = _spellings(name)
    # The index may match more than the exact name.
    named = read_joins(search(graph, "joins_by_name", names=spellings))
    matches = [join for join in named if join.name in spellings]
    known = matches or _joins_of_condition(graph, name) or all_joins(graph, hidden=True)
    return choose_join(name, known)


def _find_by_columns(graph: "DataHubGraph", address: str) -> Join:
    """Find a join by the URNs of its two columns, also if it has no relationship."""
    pair = _parse_address(address)
    joins = joins_of_dataset(graph, dataset_urn(pair[0].table), hidden=True, members=True)
    found = [join for join in joins if pair_of(join.left, join.right) == pair and not join.further]
    if not found:
        raise UnknownNameError.nothing(_JOIN, address, near=())
    return found[0]


def _parse_address(address: str) -> Pair:
    columns = [*filter(None, map(parse_column, address.split(" = ")))]
    if len(columns) != len(("left", "right")) or columns[0] == columns[1]:
        raise UnknownNameError.nothing(_JOIN, address, near=())
    return pair_of(*columns)


def find_decidable(graph: "DataHubGraph", name_or_urn: str) -> Join:
    """Find a join as `find_join` does, or any two columns, about which people may decide.

    Raises:
        UnknownNameError: No join and no two columns match, or more than one join.
    """
    name = name_or_urn.strip()
    try:
        return find_join(graph, name)
    except UnknownNameError:
        pair = _parse_address(name) if is_pair(name) else _find_columns(graph, name)
        if pair is None:
            raise
        # Of several relationships of the two columns, people choose by the URN.
        joins = joins_of_dataset(graph, dataset_urn(pair[0].table), hidden=True)
        if any(pair in {pair_of(*each) for each in join.pairs} for join in joins):
            raise
        return pair_as_join(pair)


def _find_columns(graph: "DataHubGraph", condition: str) -> Pair | None:
    """Find the two columns of a join condition; None if the text is no condition of two columns."""
    pairs = split_condition(condition)
    if len(pairs) != 1:
        return None
    ends = [find_path_end(graph, name.strip()) for name in pairs[0]]
    columns = [end for end in ends if isinstance(end, ColumnId)]
    if len(columns) != len(pairs[0]) or columns[0] == columns[1]:
        return None
    return pair_of(*columns)


def _joins_of_condition(graph: "DataHubGraph", name: str) -> list[Join]:
    """Return the joins of the datasets that the first column of a condition may be of."""
    for side, _ in split_condition(name)[:1]:
        for dataset, _ in split_column(side):
            if urns := _match_datasets(dataset, _find_named_datasets(graph, dataset)):
                read = partial(joins_of_dataset, graph, hidden=True, members=True)
                return [join for urn in urns for join in read(urn)]
    return []


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
    typed = split_condition(name)
    matches = best_fits(
        joins,
        lambda join: join.urn == name,
        lambda join: not _names_of(join, titles).isdisjoint(spellings),
        lambda join: bool(typed) and _is_condition(typed, join),
    )
    if len(matches) > 1:
        raise UnknownNameError.several(_JOIN, name, urns=sorted(join.urn for join in matches))
    if not matches:
        all_names = sorted({other for join in joins for other in _names_of(join) if other})
        near = find_near(name, all_names)
        raise UnknownNameError.nothing(_JOIN, name, near=near, where=where)
    return matches[0]


def _spellings(name: str) -> list[str]:
    """List the ways in which the catalog may spell a join's name.

    A join condition may have either side first; any other name has only one spelling.

    >>> _spellings("orders.customer → customers.id")[1:]
    ['orders.customer = customers.id', 'customers.id = orders.customer']
    """
    pairs = split_condition(name)
    if not pairs:
        return [name]
    sides = (pairs, [pair[::-1] for pair in pairs])
    conditions = (" and ".join(" = ".join(pair) for pair in side) for side in sides)
    return [*dict.fromkeys([name, *conditions])]


def split_condition(name: str) -> list[tuple[str, str]]:
    """Split a join condition into its pairs of columns; empty if a name is no condition."""
    parts = [name] if len(_EQUALS.findall(name)) == 1 else name.split(" and ")
    pairs = [_EQUALS.split(part) for part in parts]
    are_pairs = all(len(pair) == len(("left", "right")) for pair in pairs)
    return [(one, other) for one, other in pairs] if are_pairs else []


def _names_of(join: Join, titles: Mapping[TableId, str] = MappingProxyType({})) -> set[str]:
    """Return the names of a join, also as lists show them."""
    title = join.published.title if join.published else ""
    titled = (
        " and ".join(
            " = ".join(f"{titles.get(end.table, end.table.name)}.{end.path}" for end in pair)
            for pair in pairs
        )
        for pairs in (join.pairs, join.reversed.pairs)
    )
    names = {join.name, title, join.condition, join.reversed.condition, *titled}
    return names.union(map(visible, names))


def _is_condition(typed: Sequence[tuple[str, str]], join: Join) -> bool:
    """Return whether a condition is that of a join, with short names of tables, in any order."""
    return len(typed) == len(join.pairs) and all(
        any(
            _names_column(one, left) and _names_column(other, right)
            for pair in join.pairs
            for left, right in (pair, pair[::-1])
        )
        for one, other in typed
    )


def _names_column(typed: str, column: ColumnId) -> bool:
    """Return whether a text is the end of a column's full name, which includes its table.

    >>> column = ColumnId(TableId("file", "lake/flights.csv"), "carrier")
    >>> [_names_column(each, column) for each in ("flights.carrier", "flights.csv.carrier")]
    [True, True]
    >>> _names_column("carrier", column), _names_column("s.csv.carrier", column)
    (False, False)
    """
    paths = {f".{path}" for path in (column.path, visible(column.path)) if typed.endswith(path)}
    tables = (typed.removesuffix(path) for path in paths if typed.endswith(path))
    return any(
        names_table(table, name)
        for table in tables
        for name in (column.table.name, visible(column.table.name))
    )


def find_near(name: str, candidates: Sequence[str]) -> list[str]:
    """Return the names among `candidates` that are similar to a given name.

    A candidate is similar if it contains the given name. If none does, candidates with similar
    spelling are returned, whatever their folders and extensions.

    >>> find_near("orders", ["shop.customers", "shop.orders"])
    ['shop.orders']
    >>> find_near("shop.ordres", ["shop.customers", "shop.orders"])
    ['shop.orders']
    >>> find_near("Salary", ["lahman/Salaries.csv", "lahman/Parks.csv"])
    ['lahman/Salaries.csv']
    """
    folded = name.casefold()
    containing = [candidate for candidate in candidates if folded in candidate.casefold()]
    short = {candidate: _last_part(candidate) for candidate in candidates}
    alike = get_close_matches(_last_part(name), [*short.values()], n=_OFFERED)
    named = (candidate for own in alike for candidate in candidates if short[candidate] == own)
    near = containing or get_close_matches(name, candidates, n=_OFFERED) or [*dict.fromkeys(named)]
    return near[:_OFFERED]


def _last_part(name: str) -> str:
    return without_extension(name).rpartition("/")[2].rpartition(".")[2].casefold()


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
    # The catalog may write a name with or without the extension of a file.
    words = re.findall(r"[\w.]+", without_extension(name))
    if found := _search_datasets(graph, " ".join(words) or "*"):
        return found
    # So that the error can offer names like it. With a dot, the name may be one of a column.
    like = [f"{word[:_LIKE]}*" for word in words[-1:] if len(word) > _LIKE and "." not in word]
    return _search_datasets(graph, *like, most=_SIMILAR) if like else []


def _search_datasets(
    graph: "DataHubGraph", words: str, *, most: int | None = None
) -> list[NamedDataset]:
    found = islice(search(graph, "datasets_by_name", words=words), most)
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
        raise UnknownNameError.datasets(name, urns=urns, names=[table_id(urn).name for urn in urns])
    if not urns:
        near = find_near(name, sorted({table_id(urn).name for urn, _ in candidates}))
        raise UnknownNameError.nothing(_DATASET, name, near=near, where=where)
    return urns[0]


def _match_datasets(name: str, candidates: Sequence[NamedDataset]) -> list[str]:
    """Return the URNs of the datasets that a name refers to."""
    # The URN, the full name, the title, either name in any case, and the end of the full name;
    # last, the name of a file of which the catalog has no extension.
    folded = name.casefold()
    stem = without_extension(folded)
    named = [(urn, table_id(urn).name, title) for urn, title in candidates]
    matches = best_fits(
        named,
        lambda it: it[0] == name,
        lambda it: it[1] == name,
        lambda it: it[2] == name,
        lambda it: folded in {it[1].casefold(), it[2].casefold()},
        lambda it: names_table(folded, it[1].casefold()),
        lambda it: stem != folded and stem in {it[2].casefold(), it[1].casefold()},
        lambda it: stem != folded and ends_in(it[1].casefold(), stem),
    )
    return sorted({urn for urn, *_ in matches})


def find_path_end(graph: "DataHubGraph", name_or_urn: str) -> PathEnd:
    """Find the dataset or column that a name refers to."""

    def columns_of(urn: str) -> set[str]:
        return _known_columns(graph, urn, joins_of_dataset(graph, urn))

    return choose_path_end(name_or_urn, partial(_find_named_datasets, graph), columns_of)


def find_column(graph: "DataHubGraph", urn: str, name: str, joins: Iterable[Join]) -> str:
    """Find a column of a dataset, whose joins are known, by its name, and return its plain path.

    Raises:
        UnknownNameError: The dataset has no such column; the message names the nearest ones.
        AmbiguousColumnError: It has several.
    """
    return _choose_path(name, _known_columns(graph, urn, joins), table_id(urn))


def _known_columns(graph: "DataHubGraph", urn: str, joins: Iterable[Join]) -> set[str]:
    """Return the columns of a dataset, also those that only its joins name."""
    table = table_id(urn)
    return set(read_columns(graph, urn)).union(*(join.paths_in(table) for join in joins))


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
    if name.startswith(COLUMN_URN):
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
        # Whatever it may be, the nearest names tell an agent how this dataset calls things.
        columns = sorted(known)
        near = find_near(name, columns) or get_close_matches(name, columns, n=_NEAREST, cutoff=0)
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
