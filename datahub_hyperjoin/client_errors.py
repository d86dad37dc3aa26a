"""Translate errors of DataHub's client into errors of this package.

The client raises errors of `requests`, its own `GraphError` and, for a failing REST request, its
`OperationalError` around the HTTP error. Every request of this package goes through
`translate_errors`, or explains what it catches with `explain`, so that one failure reads the same
wherever it happens and never shows a password or a token. What parses an answer goes through
`translate_malformed`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from avro.errors import AvroException
from datahub.configuration.common import GraphError, OperationalError
from datahub.utilities.urns.error import InvalidUrnError
from requests import JSONDecodeError, RequestException, Response, exceptions

from datahub_hyperjoin.errors import HyperJoinError, UnknownEntityTypeError
from datahub_hyperjoin.visible import redact

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

UNREADABLE = (RequestException, GraphError, ValueError, TypeError, AttributeError)
"""Errors that the client raises if a request fails, or if the answer cannot be read."""

_NO_ACCESS = {401, 403}
_ON_THE_WAY = (exceptions.SSLError, exceptions.ProxyError)
"""Connection errors that can occur although the server itself is running."""

MALFORMED = (
    AssertionError,
    AttributeError,
    AvroException,
    InvalidUrnError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that the client or this package raises when it parses an answer of an unexpected form."""

_NOT_DATAHUB = "the response is not from DataHub's metadata service"
"""The reason that errors give for a malformed response. Such responses usually come from a proxy or
another server."""

_MOST_BYTES = 1 << 27
"""Maximum size of a decompressed answer, in bytes. The longest of DataHub have a few megabytes."""

_GRAPHQL_TYPES = {"erModelRelationship": "ERModelRelationship"}
"""GraphQL types that this package's operations name in fragments."""


class _LongAnswerError(RequestException):
    """An answer is longer than any of DataHub's."""


def limit_answers(graph: "DataHubGraph") -> None:
    """Let a client read no answer that uses up the memory, such as a small one that expands."""
    hooks = graph._session.hooks["response"]  # noqa: SLF001 (older releases have no other name)
    if read_within_limit not in hooks:
        hooks.append(read_within_limit)


def read_within_limit(response: Response, *_: object, stream: bool = False, **__: object) -> None:
    """Read the content of a response up to a limit; a hook of `requests`."""
    if stream:
        return
    parts, size = list[bytes](), 0
    for part in response.iter_content(1 << 16):
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            response.close()
            message = f"the answer is longer than {_MOST_BYTES >> 20} MiB"
            raise _LongAnswerError(message)
    response._content = b"".join(parts)  # noqa: SLF001 (where `requests` keeps what it has read)


def is_sendable(token: str) -> bool:
    r"""Return whether a request can hold a token; of another one, no server can be asked.

    >>> is_sendable("eyJhbGciOi.J9"), is_sendable("žeton"), is_sendable("a\nb")
    (True, False, False)
    """
    return token.isascii() and token.isprintable()


def response_of(error: BaseException) -> Response | None:
    """Return the server's response to a failed request."""
    for link in (error, error.__cause__):
        response = getattr(link, "response", None)
        if isinstance(response, Response):
            return response
    return None


def explain(error: Exception, token: str | None) -> str:
    """Explain in one line why a request failed.

    >>> explain(JSONDecodeError("Expecting value", "<html>", 0), None)
    "the response is not from DataHub's metadata service"
    """
    return redact(_reason(error), token)


def _reason(error: Exception) -> str:
    response = response_of(error)
    if response is not None:
        return f"{response.status_code} {response.reason}: {_message(response)}".rstrip(": ")
    match error:
        case JSONDecodeError():
            return _NOT_DATAHUB
        case exceptions.ConnectionError() if error.request and not isinstance(error, _ON_THE_WAY):
            return "nothing answers at " + str(error.request.url)
        case OperationalError():
            return str(error.info.get("message") or error.info.get("error") or error.message)
        case GraphError():
            return _graphql_reason(error.args[0] if error.args else "")
        case _:
            kind = "" if isinstance(error, _LongAnswerError) else f"{type(error).__name__}: "
            return f"{kind}{error}"


def _message(response: Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return ""
    return str(body.get("message") or body.get("error") or "") if isinstance(body, dict) else ""


def _graphql_reason(errors: object) -> str:
    if not isinstance(errors, list):
        return str(errors)
    paths = [[*map(str, error.get("path") or ())] for error in errors]
    parts = zip(paths, errors, strict=True)
    return "; ".join(": ".join([*path[:1], str(error.get("message"))]) for path, error in parts)


def is_unknown_entity(entity: str, error: Exception) -> bool:
    """Return whether the server reports that it does not support an entity type."""
    from datahub.ingestion.graph.client import entity_type_to_graphql  # noqa: PLC0415 (half a second)

    response = response_of(error)
    text = str(error) if response is None else response.text
    enum_value = entity_type_to_graphql(entity)
    # Quotes may be escaped: the client puts the server's messages into the text of its own error.
    patterns = [
        rf"(?i:entity with name {entity}\b)",
        rf"EntityType.*\b{enum_value}\\?'",
        rf"\b{enum_value}\\?'.*EntityType",
    ]
    if entity in _GRAPHQL_TYPES:
        patterns.append(rf"\b({enum_value}|{_GRAPHQL_TYPES[entity]})\\?'")
    return any(re.search(pattern, text, re.DOTALL) for pattern in patterns)


def is_denied(error: Exception) -> bool:
    """Return whether the server refused a request."""
    response = response_of(error)
    if response is not None:
        return response.status_code in _NO_ACCESS
    return isinstance(error, GraphError) and not isinstance(error, OperationalError)


@contextmanager
def translate_errors(
    graph: "DataHubGraph", build: Callable[[Exception, str], HyperJoinError], *, entity: str = ""
) -> Iterator[None]:
    """In a `with` block, replace errors of DataHub's client by errors that `build` creates."""
    try:
        yield
    except (RequestException, GraphError) as error:
        if entity and is_unknown_entity(entity, error):
            raise UnknownEntityTypeError.named(entity) from error
        raise build(error, explain(error, graph.config.token)) from error


@contextmanager
def translate_malformed(build: Callable[[str], HyperJoinError]) -> Iterator[None]:
    """Translate parsing errors in a `with` block into errors of this package."""
    # Inside it, `translate_errors` must surround the request itself: some errors of
    # `requests` are of the same kinds.
    try:
        yield
    except MALFORMED as error:
        raise build(_NOT_DATAHUB) from error
