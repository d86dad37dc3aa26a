"""What it means when DataHub's server does not give what was asked for."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from datahub.configuration.common import GraphError
from datahub.ingestion.graph.client import DataHubGraph, entity_type_to_graphql
from requests import RequestException, Response

from datahub_hyperjoin.errors import UnknownEntityTypeError, UnreadableCatalogError
from datahub_hyperjoin.redact import in_short


def response_behind(error: BaseException) -> Response | None:
    """The server's answer behind an error; the client puts some into errors of its own.

    Args:
        error: What was raised.

    Returns:
        None, if the server did not answer at all.
    """
    for one in (error, error.__cause__):
        response = getattr(one, "response", None)
        if isinstance(response, Response):
            return response
    return None


def _said(response: Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return ""  # a page for people, from a proxy
    return str(body.get("message") or body.get("error") or "") if isinstance(body, dict) else ""


def _reason(error: Exception, token: str | None) -> str:
    """An error in few words, without the address, which may hold a password, or the token."""
    response = response_behind(error)
    if response is None:
        words = f"{type(error).__name__}: {error}"
    else:
        words = f"{response.status_code} {response.reason}: {_said(response)}".rstrip(": ")
    return in_short(words, token)


def _is_unknown(entity: str, error: Exception) -> bool:
    """Whether the server says, by REST or by GraphQL, that it has no such entity type."""
    response = response_behind(error)
    words = str(error) if response is None else response.text
    by_rest = rf"Failed to find entity with name {entity}\b"
    by_graphql = rf"(name|Value) \\?'{entity_type_to_graphql(entity)}\\?'"
    return bool(
        re.search(by_rest, words, re.IGNORECASE)
        or ("EntityType" in words and re.search(by_graphql, words))
    )


@contextmanager
def reading(graph: DataHubGraph, what: str, *, entity: str = "") -> Iterator[None]:
    """Whatever keeps the server from answering becomes an error of ours.

    Args:
        graph: The client, for its token, which must not be shown.
        what: What is being read, in words that can begin a sentence.
        entity: The entity type that is being read, if it is one.

    Raises:
        UnknownEntityTypeError: The server has no such entity type.
        UnreadableCatalogError: It cannot be reached, does not let us in, or fails.
    """
    try:
        yield
    except (RequestException, GraphError) as error:
        if entity and _is_unknown(entity, error):
            raise UnknownEntityTypeError.named(entity) from error
        reason = _reason(error, graph.config.token)
        raise UnreadableCatalogError.because(what, reason) from error
