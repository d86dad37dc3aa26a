"""Find tables that DataHub has in another platform instance or environment than the recipe says."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import (
    DataPlatformInstanceClass,
    DatasetKeyClass,
    StatusClass,
)
from datahub.metadata.urns import DataPlatformInstanceUrn, DataPlatformUrn
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.datasets import PlatformInstance, is_removed
from datahub_hyperjoin.catalog.entities import Aspects, aspect_of, scroll
from datahub_hyperjoin.metadata.urns import table_id
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.wording import join_with_and, name_some

Places = Mapping[TableId, Sequence[PlatformInstance]]
"""The places of each table that DataHub has elsewhere."""


def find_elsewhere(
    graph: DataHubGraph, missing: Sequence[Table]
) -> dict[TableId, Sequence[PlatformInstance]]:
    """Find the platform instances and environments in which DataHub has tables.

    A request reads up to a thousand datasets of the platforms of these tables.

    Args:
        missing: Tables that DataHub does not have where the recipe says.

    Returns:
        The places of each table that DataHub has, in order.
    """
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
    if instance:
        start = f"{instance}."
        begins = table.name.casefold().startswith(start.casefold())
        name = table.name[len(start) :] if begins else table.name
        yield PlatformInstance(platform=table.platform, env=table.env, instance=instance), name
        return
    yield PlatformInstance(platform=table.platform, env=table.env), table.name
    # Connectors of older versions named the instance in the name alone.
    if rest:
        yield PlatformInstance(platform=table.platform, env=table.env, instance=first), rest


def describe_elsewhere(missing: Sequence[Table], places: Places) -> str:
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
    where, keys = [], []
    # The recipe key of the folder's tables is `catalog.tables`; its place has keys of their own.
    source = table.chosen_by.removesuffix("tables").removeprefix("catalog.")
    if (place.instance or "") != table.instance and place.instance:
        where.append(f"in the platform instance {place.instance!r}")
        keys.append(f"set `{source}platform_instance: {place.instance}`")
    elif (place.instance or "") != table.instance:
        where.append("without a platform instance")
        keys.append(f"remove `{source}platform_instance`")
    if place.env != table.id.env:
        where.append(f"in env {place.env!r}")
        keys.append(f"set `{source}env: {place.env}`")
    return f"{' '.join(where)}: {join_with_and(keys)}"
