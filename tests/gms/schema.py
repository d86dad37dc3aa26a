"""Build the GraphQL schema of a server, without the entity types that it lacks."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLSchema,
    NamedTypeNode,
    build_ast_schema,
    parse,
    visit,
)
from graphql.language.visitor import REMOVE, Visitor, VisitorAction

from gms.world import enum_type

_FILES = ("schema.graphql", "inputs.graphql")
_OWN = {
    "erModelRelationship": ("ERModelRelationship", "RelationshipFieldMapping"),
    "structuredProperty": (
        "StructuredPropert",
        "UpsertStructuredPropert",
        "RemoveStructuredPropert",
        "PropertyValue",
        "StringValue",
        "NumberValue",
    ),
    "query": ("Query", "UpdateQuery", "ListQueries"),
    "document": ("Document", "RelatedDocuments"),
}
"""Maps each entity type to the name prefixes of GraphQL types that exist only for this entity."""

_DELETIONS = {"erModelRelationship": "deleteERModelRelationship", "query": "deleteQuery"}
"""For some entity types, the mutation that deletes an entity. The types in its signature do not
tell which entity it deletes."""


def schema_without(missing: Collection[str], folder: Path | None = None) -> GraphQLSchema:
    """Return the GraphQL schema of a server that lacks some entity types.

    Args:
        missing: Names of entity types, as in the registry.
        folder: DataHub's own schema, a folder of files; by default, the part that this project
            asks for.
    """
    here = Path(__file__).parent
    files = sorted(folder.glob("*.graphql")) if folder else [here / name for name in _FILES]
    assert files, f"no file in {folder} ends in .graphql"
    document = parse("\n".join(file.read_text() for file in files), no_location=True)
    return build_ast_schema(visit(document, _Pruning(document, missing)))


def _type_names(document: DocumentNode, missing: Collection[str]) -> Iterator[str]:
    beginnings = tuple(it for entity in missing for it in _OWN.get(entity, ()))
    for definition in document.definitions:
        name = getattr(getattr(definition, "name", None), "value", "")
        if beginnings and name.startswith(beginnings) and name != "Query":
            yield name


class _Pruning(Visitor):
    """A visitor that removes types from a schema, and all fields that return or accept them."""

    def __init__(self, document: DocumentNode, missing: Collection[str]) -> None:
        super().__init__()
        self._types = set(_type_names(document, missing))
        self._values = {enum_type(entity) for entity in missing}
        self._mutations = {_DELETIONS[it] for it in missing if it in _DELETIONS}

    def enter(self, node: Any, *_: Any) -> VisitorAction:  # noqa: ANN401 - any node
        name = getattr(getattr(node, "name", None), "value", None)
        match node.kind:
            case "field_definition":
                leads = {_named(node.type), *(_named(it.type) for it in node.arguments or ())}
                gone = bool(leads & self._types) or name in self._mutations
            case "enum_value_definition":
                gone = name in self._values
            case kind:
                gone = kind.endswith("type_definition") and name in self._types
        return REMOVE if gone else None


def _named(node: Any) -> str:  # noqa: ANN401 - any type node
    while not isinstance(node, NamedTypeNode):
        node = node.type
    return node.name.value
