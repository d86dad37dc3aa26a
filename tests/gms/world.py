"""Define the data that GraphQL resolvers read."""

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
"""A function that resolves a GraphQL field from the world, the parent object and the field's
arguments."""


@dataclass(frozen=True)
class World:
    """The stored content of the server, and the entity types that it supports."""

    store: Store
    registry: Registry
    ingestion: Ingestion


class Node(NamedTuple):
    """An entity, whether it exists or not.

    Its aspects are read when they are needed.
    """

    urn: str

    @property
    def entity(self) -> str:
        """Entity type, as in the registry."""
        return Urn.from_string(self.urn).entity_type


def graphql_type(node: Node) -> str:
    """Return the name of the GraphQL object type for an entity.

    >>> graphql_type(Node("urn:li:tag:a")), graphql_type(Node("urn:li:container:a"))
    ('Tag', 'Restricted')
    """
    return _TYPES.get(node.entity, "Restricted")


@cache
def enum_type(entity: str) -> str:
    """Return GraphQL's name of an entity type.

    >>> enum_type("schemaField")
    'SCHEMA_FIELD'
    """
    return entity_type_to_graphql(entity)


_TYPES = {
    "dataset": "Dataset",
    "schemaField": "SchemaFieldEntity",
    "erModelRelationship": "ERModelRelationship",
    "query": "QueryEntity",
    "document": "Document",
    "structuredProperty": "StructuredPropertyEntity",
    "tag": "Tag",
    "corpuser": "CorpUser",
    "corpGroup": "CorpGroup",
    "dataPlatform": "DataPlatform",
    "dataType": "DataTypeEntity",
    "entityType": "EntityTypeEntity",
}
