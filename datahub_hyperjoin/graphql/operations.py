"""Run the GraphQL operations that are stored as files in this package."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from datahub_hyperjoin.client_errors import is_denied, translate_errors, translate_malformed
from datahub_hyperjoin.graphql.errors import DeniedError, UnansweredError

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

GraphQLObject = dict[str, Any]
"""An object of a GraphQL response."""

_ENTITY = "erModelRelationship"
_PAGE = 100


@cache
def operation(name: str) -> str:
    """Return the text of a GraphQL operation, with the fragments that it uses.

    Args:
        name: Name of the operation's file, without its ending.

    >>> "mutation acceptJoin(" in operation("accept_join")
    True
    >>> "fragment join on ERModelRelationship" in operation("all_joins")
    True
    """
    text = _read(name)
    return f"{text}\n{_read('_join')}" if "...join" in text else text


def _read(name: str) -> str:
    file = resources.files("datahub_hyperjoin.graphql") / f"{name}.graphql"
    return file.read_text(encoding="utf-8")


def execute(graph: "DataHubGraph", name: str, /, **variables: Any) -> GraphQLObject:  # noqa: ANN401 - JSON
    """Run a GraphQL operation of this package, and return the response's data."""
    with requesting(graph, name):
        # Unformatted errors keep their path, which names the part of the operation that failed.
        data = graph.execute_graphql(operation(name), variables, format_exception=False)
        return dict(data.items())  # a list or a number has none


@contextmanager
def requesting(graph: "DataHubGraph", name: str) -> Iterator[None]:
    """Translate errors of DataHub's client in a `with` block into errors of this package."""
    with (
        parsing(name),
        translate_errors(
            graph,
            lambda error, reason: (DeniedError if is_denied(error) else UnansweredError).to(
                name, reason=reason
            ),
            entity=_ENTITY,
        ),
    ):
        yield


def parsing(name: str) -> AbstractContextManager[None]:
    """Raise `UnansweredError` if a `with` block fails to parse a response."""
    return translate_malformed(lambda reason: UnansweredError.to(name, reason=reason))


def search(graph: "DataHubGraph", name: str, /, **variables: Any) -> Iterator[GraphQLObject]:  # noqa: ANN401 - JSON
    """Run a search operation page by page, and yield the entities that it finds."""
    start = 0
    while True:
        data = execute(graph, name, **variables, start=start, count=_PAGE)
        with parsing(name):
            page = data["searchAcrossEntities"]
            entities = [result["entity"] for result in page["searchResults"]]
            start += _PAGE
            # An empty page ends the loop even if the total counts entities that are not returned.
            is_last = start >= page["total"] or not entities
        yield from entities
        if is_last:
            return
