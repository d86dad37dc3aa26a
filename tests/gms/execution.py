"""Execute GraphQL operations against the server's real schema, which rejects unknown fields."""

from collections.abc import Callable, Collection
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    execute_sync,
    parse,
    validate,
)

from gms.answers import ANSWERS
from gms.mutations import MUTATIONS
from gms.questions import QUESTIONS
from gms.routes import Call, Routes
from gms.schema import schema_without
from gms.world import Json, Node, Resolver, World, enum_type, graphql_type

Prepare = Callable[[str], DocumentNode | list[GraphQLError]]
"""Parses a query, and checks it against a schema."""


class Execution:
    """The GraphQL interface of the server."""

    def __init__(self, world: World, missing: Collection[str], schema: Path | None = None) -> None:
        """Prepare the schema, without the entity types that the server lacks."""
        self._world = world
        self._schema, self._prepare = _interface(frozenset(missing), schema)

    def mount(self, routes: Routes) -> None:
        """Add the route for GraphQL operations."""
        routes.add("POST", "/api/graphql", self._answer)

    def _answer(self, call: Call) -> Json:
        asked = call.body
        prepared = self._prepare(asked["query"])
        if isinstance(prepared, list):
            return {"errors": [it.formatted for it in prepared], "data": None}
        result = execute_sync(
            self._schema,
            prepared,
            context_value=self._world,
            variable_values=asked.get("variables"),
            operation_name=asked.get("operationName"),
            type_resolver=_resolve_type,
        )
        return dict(result.formatted)


@cache
def _interface(missing: frozenset[str], folder: Path | None) -> tuple[GraphQLSchema, Prepare]:
    """Build a schema with its resolvers.

    The result is cached, because building it takes longer than most tests.
    """
    schema = schema_without(missing, folder)
    resolvers = {"Query": QUESTIONS, "Mutation": MUTATIONS, **ANSWERS}
    for name, kind in schema.type_map.items():
        if isinstance(kind, GraphQLObjectType):
            _attach(kind, resolvers.get(name, {}))

    @lru_cache(maxsize=1000)
    def prepare(query: str) -> DocumentNode | list[GraphQLError]:
        try:
            document = parse(query)
        except GraphQLError as error:
            return [error]
        return validate(schema, document) or document

    return schema, prepare


def _attach(kind: GraphQLObjectType, resolvers: dict[str, Resolver]) -> None:
    if any(it.name == "Entity" for it in kind.interfaces):
        kind.fields["type"].resolve = lambda node, _: enum_type(node.entity)
    for name, resolver in resolvers.items():
        # A field may be pruned, and some types lack common fields.
        if name in kind.fields:
            kind.fields[name].resolve = _bind(resolver)


def _bind(resolver: Resolver) -> Resolver:
    def resolve(source: Any, info: Any, **arguments: Any) -> Any:  # noqa: ANN401 - given
        return resolver(info.context, source, **arguments)

    return resolve


def _resolve_type(source: Any, _: object, __: object) -> str:  # noqa: ANN401 - given
    if isinstance(source, Node):
        return graphql_type(source)
    return "StringValue" if "stringValue" in source else "NumberValue"
