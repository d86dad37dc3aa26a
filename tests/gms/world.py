"""The data that GraphQL's resolvers read."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from datahub.ingestion.graph.client import entity_type_to_graphql
from datahub.metadata.urns import Urn

from gms.ingest import Ingestion
from gms.registry import Registry
from gms.store import Store

Json = dict[str, Any]
Resolver = Callable[..., Any]
"""Takes the world, what it resolves a field of, and the field's arguments by name."""

ACTOR = "urn:li:corpuser:datahub"
"""Who everyone is here, as on a server without authentication."""


@dataclass(frozen=True)
class World:
    """The stored data and the model of the server."""

    store: Store
    registry: Registry
    ingestion: Ingestion


class Node(NamedTuple):
    """An entity, stored or not; its aspects are read on demand."""

    urn: str

    @property
    def entity(self) -> str:
        """The entity's type, as in the registry."""
        return Urn.from_string(self.urn).entity_type


def graphql_type(node: Node) -> str:
    """Return the GraphQL object type of an entity.

    >>> graphql_type(Node("urn:li:tag:a")), graphql_type(Node("urn:li:container:a"))
    ('Tag', 'Restricted')
    """
    return _TYPES.get(node.entity, "Restricted")


@cache
def enum_type(entity: str) -> str:
    """Convert an entity type of the registry into GraphQL's.

    >>> enum_type("schemaField")
    'SCHEMA_FIELD'
    """
    return entity_type_to_graphql(entity)


_TYPES = {
    "dataset": "Dataset",
    "schemaField": "SchemaFieldEntity",
    "erModelRelationship": "ERModelRelationship",
    "query": "QueryEntity",
    "structuredProperty": "StructuredPropertyEntity",
    "tag": "Tag",
    "corpuser": "CorpUser",
    "corpGroup": "CorpGroup",
    "dataPlatform": "DataPlatform",
    "dataType": "DataTypeEntity",
    "entityType": "EntityTypeEntity",
}
