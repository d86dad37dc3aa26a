"""Finding what people mean by a name."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from datahub.ingestion.graph.client import DataHubGraph
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.graphql.ask import ask, search
from datahub_hyperjoin.graphql.errors import UnknownNameError
from datahub_hyperjoin.graphql.joins import CatalogJoin, mirror, read_join, read_joins
from datahub_hyperjoin.graphql.questions import all_joins
from datahub_hyperjoin.urns import table_id

_JOIN, _DATASET = "join", "dataset"
_OFFERED = 3

Named = tuple[str, str]
"""Urn of a dataset, and the title that the catalog shows; empty without one."""


def find_join(graph: DataHubGraph, name_or_urn: str) -> CatalogJoin:
    """The join that a person means, hidden or not.

    Args:
        graph: DataHub's server.
        name_or_urn: Its urn, its name, or the equality of its columns, either side first.

    Returns:
        The join as it is stored now.

    Raises:
        UnknownNameError: There is none, or more than one.
    """
    asked = name_or_urn.strip()
    if asked.startswith("urn:li:erModelRelationship:"):
        join = read_join(ask(graph, "join", join=asked)["erModelRelationship"])
        if join is None:
            raise UnknownNameError.nothing(_JOIN, asked, near=())
        return join
    names = _spellings(asked)
    found = [
        join
        for join in read_joins(search(graph, "joins_by_name", names=names))
        if join.name in names
    ]
    return _only(asked, found or _by_condition(asked, all_joins(graph, hidden=True)))


def _spellings(name: str) -> list[str]:
    """A name, and the same equality written the other way round.

    >>> _spellings("orders.customer = customers.id")
    ['orders.customer = customers.id', 'customers.id = orders.customer']
    """
    left, equals, right = name.partition(" = ")
    return [name, f"{right} = {left}"] if equals else [name]


def _by_condition(asked: str, joins: Iterable[CatalogJoin]) -> list[CatalogJoin]:
    """Joins that the search does not find by their names, or that are called otherwise.

    Raises:
        UnknownNameError: There is none.
    """
    called = [
        (join, {join.name, join.title, join.condition, mirror(join).condition}) for join in joins
    ]
    found = [join for join, names in called if asked in names]
    if not found:
        known = sorted({name for _, names in called for name in names if name})
        raise UnknownNameError.nothing(_JOIN, asked, near=_near(asked, known))
    return found


def _near(asked: str, known: Sequence[str]) -> list[str]:
    """Names that hold what was asked for, or else look like it.

    >>> _near("orders", ["shop.customers", "shop.orders"]), _near("shop.ordres", ["shop.orders"])
    (['shop.orders'], ['shop.orders'])
    """
    folded = asked.casefold()
    holding = [name for name in known if folded in name.casefold()]
    return (holding or get_close_matches(asked, known, n=_OFFERED))[:_OFFERED]


def _only(asked: str, found: Sequence[CatalogJoin]) -> CatalogJoin:
    if len(found) > 1:
        urns = sorted(join.urn for join in found)
        raise UnknownNameError.several(_JOIN, asked, urns=urns)
    return found[0]


def find_dataset(graph: DataHubGraph, name_or_urn: str) -> str:
    """The dataset that a person means.

    Args:
        graph: DataHub's server.
        name_or_urn: Its urn, its full name, its title, or the end of its full name.

    Returns:
        Its urn.

    Raises:
        UnknownNameError: There is none, or more than one.
    """
    asked = name_or_urn.strip()
    if asked.startswith("urn:li:"):
        return _checked(asked)
    words = " ".join(re.findall(r"[\w.]+", asked)) or "*"
    found = [
        (entity["urn"], str((entity.get("properties") or {}).get("name") or ""))
        for entity in search(graph, "datasets_by_name", words=words)
    ]
    return choose_join(asked, found)


def _checked(urn: str) -> str:
    try:
        table_id(urn)
    except InvalidUrnError as error:
        raise UnknownNameError.nothing(_DATASET, urn, near=()) from error
    return urn


def choose_join(asked: str, found: Sequence[Named]) -> str:
    """The dataset of a name among those that a search brought.

    A full name comes before a title, and a title before the end of a name, whatever the case.

    Args:
        asked: What a person wrote.
        found: Datasets and their titles.

    Returns:
        Its urn.

    Raises:
        UnknownNameError: None is called so, or more than one.

    >>> orders = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
    >>> choose_join("public.orders", [(orders, "Orders")]) == orders
    True
    """
    folded = asked.casefold()
    names = {urn: (table_id(urn).name, title) for urn, title in found}
    ways = (
        lambda name, _: name == asked,
        lambda _, title: title == asked,
        lambda name, title: folded in {name.casefold(), title.casefold()},
        lambda name, _: bool(re.search(rf"[./]{re.escape(folded)}$", name.casefold())),
    )
    for meant in ways:
        urns = sorted(urn for urn, (name, title) in names.items() if meant(name, title))
        if len(urns) == 1:
            return urns[0]
        if urns:
            raise UnknownNameError.several(_DATASET, asked, urns=urns)
    known = sorted({name for name, _ in names.values()})
    raise UnknownNameError.nothing(_DATASET, asked, near=_near(asked, known))
