"""Build and parse the DataHub URNs of all entities that this package uses."""

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import quote

from datahub_hyperjoin.joins import Role, Verdict
from datahub_hyperjoin.tables import ColumnId, TableId

JOINABLE_WITH, JOIN_SUGGESTIONS = "joinableWith", "joinSuggestions"
BEST_JOIN_SCORE, SUGGESTED_JOINS = "bestJoinScore", "suggestedJoins"
JOIN_LINKS = "joinLinks"
CONFIRMED_JOINS, REJECTED_JOINS = "confirmedJoins", "rejectedJoins"
DELETED_JOINS = "deletedJoins"

NAMESPACE = "io.datahub.hyperjoin"
"""What the names of this source's properties and terms begin with, unless a recipe says else."""

KEPT_URNS = 1 << 18
"""Number of URNs of each kind kept in memory, because a run needs each URN several times, and the
SDK takes longer to check one than to write it. With fewer than a lake has, none would be found: a
run comes back to a URN only after all others. They take some 300 bytes each."""

AUTHOR = "urn:li:corpuser:_ingestion"
"""The user that DataHub's own sources write as; DataHub's pages do not show it as an author."""

AI_CONTEXT, SEMANTIC_MODEL = "aiContext", "semanticModelInfo"
"""Names of the aspects that hold instructions for AI agents, and the joins of a semantic model;
older clients have no classes for them."""

OWN_MODELS = "urn:li:semanticModel:(urn:li:dataPlatform:hyperjoin,"
"""What the URNs of this source's semantic models begin with."""

JOIN_OVERVIEW = "urn:li:document:hyperjoin-overview"
"""URN of the document that leads to the documents of all datasets."""

ACCEPTED, REJECTED = "urn:li:tag:join:accepted", "urn:li:tag:join:rejected"
"""Tags with which people accept and reject a relationship."""

DECIDING_TAGS = {REJECTED: Verdict.REJECTED, ACCEPTED: Verdict.ACCEPTED}
"""The verdicts of these tags; of a relationship with both, the first holds until a run sees it."""

DECIDING_PROPERTIES = {CONFIRMED_JOINS: Verdict.ACCEPTED, REJECTED_JOINS: Verdict.REJECTED}
"""The verdicts of the properties in which people list the partners of a column."""


@cache
def _urns() -> Any:  # noqa: ANN401 - a module
    """Return DataHub's module of URNs, which runs without decisions or a server do not need."""
    return import_module("datahub.metadata.urns")


def _guid(parts: Mapping[str, str]) -> str:
    from datahub.emitter.mce_builder import datahub_guid  # noqa: PLC0415 (it imports all aspects)

    return datahub_guid(dict(parts))


@cache
def _encoded() -> dict[str, str]:
    from datahub.utilities.urn_encoder import RESERVED_CHARS, UrnEncoder  # noqa: PLC0415 (as above)

    return {UrnEncoder.encode_char(reserved): reserved for reserved in sorted(RESERVED_CHARS)}


def _encode(part: str) -> str:
    """Encode the characters of a text that may not be in one part of a URN."""
    from datahub.utilities.urn_encoder import UrnEncoder  # noqa: PLC0415 (as above)

    return str(UrnEncoder.encode_string(part))


def _decode(part: str) -> str:
    """Decode the percent-encoded characters in one part of a URN."""
    for encoded, reserved in _encoded().items():
        part = part.replace(encoded, reserved)
    return part


@lru_cache(maxsize=KEPT_URNS)
def dataset_urn(table: TableId) -> str:
    """Return the URN of a table's dataset.

    >>> dataset_urn(TableId("postgres", "shop.public.orders"))
    'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)'
    """
    platform = _urns().DataPlatformUrn(table.platform)
    return _urns().DatasetUrn(platform=platform.urn(), name=table.name, env=table.env).urn()


def table_id(urn: str) -> TableId:
    """Convert the URN of a dataset to a table identifier.

    >>> str(table_id("urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"))
    'shop.public.orders'
    >>> str(table_id(dataset_urn(TableId("file", "sales (north, 100%25).csv"))))
    'sales (north, 100%25).csv'
    """
    dataset = _urns().DatasetUrn.from_string(urn)
    platform = _urns().DataPlatformUrn.from_string(dataset.platform).platform_name
    return TableId(platform, _decode(dataset.name), dataset.env)


@lru_cache(maxsize=KEPT_URNS)
def column_urn(column: ColumnId) -> str:
    """Return the URN of the schema field that represents a column.

    >>> column_urn(ColumnId(TableId("postgres", "shop.public.orders"), "customer_id"))
    'urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD),customer_id)'
    """
    return _urns().SchemaFieldUrn(parent=dataset_urn(column.table), field_path=column.path).urn()


@lru_cache(maxsize=KEPT_URNS)  # most columns are linked from many others
def column_page(column: ColumnId) -> str:
    """Return the path of a column's page in DataHub: the dataset's columns, filtered by this one.

    >>> column_page(ColumnId(TableId("file", "sales.csv"), "amount (EUR)")).rpartition("/")[2]
    'Columns?schemaFilter=amount%20%28EUR%29'
    """
    dataset = quote(dataset_urn(column.table), safe="")
    return f"/dataset/{dataset}/Columns?schemaFilter={quote(plain_path(column.path), safe='')}"


def column_id(urn: str) -> ColumnId:
    """Convert the URN of a schema field to a column identifier.

    Type annotations are removed from the path, as by `plain_path`.

    >>> orders = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
    >>> str(column_id(f"urn:li:schemaField:({orders},[version=2.0].[type=string].customer_id)"))
    'shop.public.orders.customer_id'
    >>> amount = ColumnId(TableId("file", "sales.csv"), "amount (EUR)")
    >>> column_id(column_urn(amount)) == amount
    True
    """
    field = _urns().SchemaFieldUrn.from_string(urn)
    return ColumnId(table_id(field.parent), plain_path(_decode(field.field_path)))


def plain_path(field_path: str) -> str:
    """Remove annotations such as `[type=string]` from a DataHub field path.

    >>> plain_path("[version=2.0].[type=struct].[type=struct].address.[type=string].city")
    'address.city'
    >>> plain_path("customer_id")
    'customer_id'
    """
    from datahub.utilities.urns.field_paths import (  # noqa: PLC0415 (as above)
        get_simple_field_path_from_v2_field_path,
    )

    return get_simple_field_path_from_v2_field_path(field_path)


def relationship_urn(*, source: str, destination: str, name: str) -> str:
    """Return the URN of a relationship.

    DataHub's web interface computes it in the same way.

    The URN depends on the datasets and the name only, so the name must differ for each pair of
    columns.
    """
    guid = _guid({"Destination": destination, "ERModelRelationName": name, "Source": source})
    return _urns().ErModelRelationshipUrn(guid).urn()


def query_urn(relationship: str) -> str:
    """Return the URN of the `query` entity that belongs to a relationship."""
    return _urns().QueryUrn(_guid({"join": relationship})).urn()


def assertion_urn(relationship: str) -> str:
    """Return the URN of the assertion that watches the join of a relationship."""
    return _urns().AssertionUrn(_guid({"watched join": relationship})).urn()


def incident_urn(assertion: str) -> str:
    """Return the URN of the incident that a broken watched join raises."""
    return _urns().IncidentUrn(_guid({"broken join": assertion})).urn()


def semantic_model_urn(table: TableId) -> str:
    """Return the URN of the semantic model with the joins of the tables in a table's schema.

    >>> semantic_model_urn(TableId("postgres", "shop.public.orders"))
    'urn:li:semanticModel:(urn:li:dataPlatform:hyperjoin,postgres.PROD,shop.public)'
    """
    # Its platform is this package, so that no other source writes it.
    parts = (f"{table.platform}.{table.env}", table.parent or table.platform)
    return f"{OWN_MODELS}{','.join(map(_encode, parts))})"


def document_urn(table: TableId) -> str:
    """Return the URN of the `document` that tells agents how to join a table."""
    return _urns().DocumentUrn(_guid({"joins of": dataset_urn(table)})).urn()


def property_urn(namespace: str, name: str) -> str:
    """Return the URN of a structured property.

    >>> property_urn("io.datahub.hyperjoin", JOINABLE_WITH)
    'urn:li:structuredProperty:io.datahub.hyperjoin.joinableWith'
    """
    return _urns().StructuredPropertyUrn(f"{namespace}.{name}").urn()


def flat_property_urn(namespace: str, name: str) -> str:
    """Return the URN of a structured property, with underscores for the dots in its name.

    DataHub's pages hide properties with dots in their names in a folded section, and show the
    others at once.

    >>> flat_property_urn("io.datahub.hyperjoin", JOIN_LINKS)
    'urn:li:structuredProperty:io_datahub_hyperjoin_joinLinks'
    """
    return _urns().StructuredPropertyUrn(f"{namespace}.{name}".replace(".", "_")).urn()


def role_urn(role: Role) -> str:
    """Return the URN of the tag that marks a join's role.

    >>> role_urn(Role.SAME_DOMAIN)
    'urn:li:tag:join:same-domain'
    """
    return _urns().TagUrn(f"join:{role.value.replace(' ', '-')}").urn()


def band_urn(band: str) -> str:
    """Return the URN of the tag that marks a confidence band, such as `high`.

    >>> band_urn("high")
    'urn:li:tag:join:suggested-high'
    """
    return _urns().TagUrn(f"join:suggested-{band}").urn()
