"""The tables that DataHub knows, with their columns and the keys that are declared on them."""

from collections.abc import Sequence
from dataclasses import dataclass

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import (
    DataPlatformInstanceClass,
    DatasetPropertiesClass,
    ForeignKeyConstraintClass,
    SchemaMetadataClass,
    StatusClass,
)
from datahub.metadata.urns import DataPlatformInstanceUrn, DataPlatformUrn
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.bulk import Aspects, NoteLeftOut, aspect_of, log_left_out, scroll
from datahub_hyperjoin.catalog.dataset_filter import DatasetFilter
from datahub_hyperjoin.tables import Pair, TableId, pair_of
from datahub_hyperjoin.urns import column_id, plain_path, table_id

_ASPECTS = tuple(
    kind.ASPECT_NAME
    for kind in (
        SchemaMetadataClass,
        DatasetPropertiesClass,
        DataPlatformInstanceClass,
        StatusClass,
    )
)
_ALL = DatasetFilter()
_MESSAGE_KEY = "[key=True]"
"""Stands in the field paths of a message's key, which says nothing of uniqueness."""


@dataclass(frozen=True, kw_only=True)
class PlatformInstance:
    """Where tables stand in the catalog."""

    platform: str
    """DataHub platform."""

    env: str
    """DataHub environment."""

    instance: str | None = None
    """DataHub platform instance; None for all of the platform."""

    def holds(self, table: TableId) -> bool:
        """Whether a table stands here, as far as its name tells.

        Args:
            table: Which table.

        >>> eu = PlatformInstance(platform="postgres", env="PROD", instance="eu")
        >>> eu.holds(TableId("postgres", "eu.shop.orders")), eu.holds(TableId("postgres", "shop.x"))
        (True, False)
        """
        within = not self.instance or table.name.startswith(f"{self.instance}.")
        return within and (table.platform, table.env) == (self.platform, self.env)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """A foreign key that a dataset declares."""

    name: str
    """Its name; empty if it has none."""

    pairs: tuple[Pair, ...]
    """Which column refers to which; several, if the key is composite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A table as the catalog describes it."""

    table: TableId
    """Which table."""

    title: str
    """The name a person would use."""

    columns: tuple[tuple[str, str], ...]
    """Plain path and DataHub's own field path of each column, in the schema's order."""

    primary_key: tuple[str, ...] = ()
    """Plain paths of the columns that are its key together; empty if none is declared."""

    foreign_keys: tuple[ForeignKey, ...] = ()
    """The foreign keys that it declares."""


def _columns(schema: SchemaMetadataClass) -> tuple[tuple[str, str], ...]:
    """Columns by their plain paths; of the variants of a union, the first."""
    fields: dict[str, str] = {}
    for field in schema.fields:
        fields.setdefault(plain_path(field.fieldPath), field.fieldPath)
    return tuple((plain, path) for plain, path in fields.items() if plain)


def _primary_key(schema: SchemaMetadataClass) -> tuple[str, ...]:
    """Connectors name the key on the schema, or mark its columns, or do both."""
    marked = [field.fieldPath for field in schema.fields if field.isPartOfKey]
    paths = schema.primaryKeys or [path for path in marked if _MESSAGE_KEY not in path]
    return tuple(dict.fromkeys(map(plain_path, paths)))


def _pairs(key: ForeignKeyConstraintClass) -> tuple[Pair, ...]:
    """The columns of a foreign key.

    Raises:
        InvalidUrnError: One of them is no column of a dataset.
        ValueError: The two sides differ in length.
    """
    sources, targets = key.sourceFields, key.foreignFields
    if len(sources) != len(targets):
        reason = f"{len(sources)} columns refer to {len(targets)}"
        raise ValueError(reason)
    ends = zip(map(column_id, sources), map(column_id, targets), strict=True)
    return tuple(pair_of(source, target) for source, target in ends)


def _foreign_key(urn: str, key: ForeignKeyConstraintClass, warn: NoteLeftOut) -> ForeignKey | None:
    try:
        return ForeignKey(name=key.name, pairs=_pairs(key))
    except (InvalidUrnError, ValueError) as error:
        warn(urn, f"its foreign key {key.name!r} cannot be read: {error}")
        return None


def _title(table: TableId, properties: DatasetPropertiesClass | None) -> str:
    named = properties.name if properties else None
    return named or table.name.removeprefix(table.home).lstrip("./")


def _is_removed(aspects: Aspects) -> bool:
    """The search that finds datasets may lag behind a removal, the aspect does not."""
    status = aspect_of(aspects, StatusClass)
    return status is not None and status.removed


def dataset_of(urn: str, aspects: Aspects, *, warn: NoteLeftOut = log_left_out) -> Dataset | None:
    """A table from the aspects of its dataset.

    Args:
        urn: The dataset.
        aspects: What is known of it.
        warn: Told what of it cannot be read, and why.

    Returns:
        None, if it is removed, or has no schema, or a urn that no table can have.
    """
    schema = aspect_of(aspects, SchemaMetadataClass)
    if schema is None or _is_removed(aspects):
        return None
    try:
        table = table_id(urn)
    except InvalidUrnError as error:  # servers still hold what older clients wrote
        warn(urn, f"its urn cannot be read: {error}")
        return None
    keys = [_foreign_key(urn, key, warn) for key in schema.foreignKeys or ()]
    return Dataset(
        table=table,
        title=_title(table, aspect_of(aspects, DatasetPropertiesClass)),
        columns=_columns(schema),
        primary_key=_primary_key(schema),
        foreign_keys=tuple(key for key in keys if key),
    )


def _stands_in(home: PlatformInstance, table: TableId, aspects: Aspects) -> bool:
    """Whether a dataset stands somewhere: in an instance by its aspect, or else by its name."""
    stated = aspect_of(aspects, DataPlatformInstanceClass)
    if not home.instance or stated is None or not stated.instance:
        return home.holds(table)
    platform = DataPlatformUrn(table.platform).urn()
    within = stated.instance == DataPlatformInstanceUrn(platform, home.instance).urn()
    return within and (table.platform, table.env) == (home.platform, home.env)


def read_datasets(
    graph: DataHubGraph,
    homes: Sequence[PlatformInstance],
    *,
    among: DatasetFilter = _ALL,
    warn: NoteLeftOut = log_left_out,
) -> list[Dataset]:
    """The tables that the catalog describes, with one request for a thousand of them.

    A dataset belongs to a platform instance if its `dataPlatformInstance` says so, or without that
    aspect, if its name begins with the instance, as DataHub's connectors name tables.

    Args:
        graph: The client.
        homes: Where the tables stand; all of them are asked for at once.
        among: What they must be filed under.
        warn: Told the urn of each dataset whose schema or foreign key cannot be read, and why.

    Returns:
        Tables with a schema, by name; removed ones do not come.

    Raises:
        UnreadableCatalogError: The server gives no answer.
    """
    filters: RawSearchFilter = [
        {
            "and": [
                {"field": "platform", "values": [DataPlatformUrn(platform).urn()]},
                {"field": "origin", "values": [env]},
            ]
        }
        for platform, env in dict.fromkeys((home.platform, home.env) for home in homes)
    ]
    found = []
    wanted = [*_ASPECTS, *among.aspects]
    for urn, aspects in scroll(graph, "dataset", wanted, filters=filters, warn=warn):
        dataset = dataset_of(urn, aspects, warn=warn)
        if not dataset or not among.holds(aspects):
            continue
        if any(_stands_in(home, dataset.table, aspects) for home in homes):
            found.append(dataset)
    return sorted(found, key=lambda dataset: dataset.table)
