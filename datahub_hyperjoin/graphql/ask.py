"""Asking DataHub's server by GraphQL, with questions that ship as files of this package."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any

from datahub.configuration.common import GraphError, OperationalError
from datahub.ingestion.graph.client import DataHubGraph
from requests import JSONDecodeError, RequestException, exceptions

from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.graphql.errors import DeniedError, UnansweredError
from datahub_hyperjoin.redact import in_short

GraphQLAnswer = dict[str, Any]

_ENTITY = "erModelRelationship"
_PAGE = 100
_KEPT_OUT = {401, 403}


@cache
def operation(name: str) -> str:
    """The text of a question, whole, for any client.

    Args:
        name: The file's name without its ending.

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


def ask(graph: DataHubGraph, question: str, **variables: Any) -> GraphQLAnswer:  # noqa: ANN401 - JSON
    """Asks one question.

    Args:
        graph: DataHub's server.
        question: Name of the question's file.
        variables: Those that the question has.

    Returns:
        The answer's data.

    Raises:
        DeniedError: The server does not do it.
        UnknownEntityTypeError: The server is too old to know relationships.
        UnansweredError: The server gives no answer.
    """
    with asking(question, token=graph.config.token):
        return graph.execute_graphql(operation(question), variables, format_exception=False)


@contextmanager
def asking(question: str, *, token: str | None) -> Iterator[None]:
    """Whatever keeps the server from answering becomes an error of ours.

    Args:
        question: What it is asked, in a word.
        token: What must not be shown.

    Raises:
        DeniedError: The server does not do it.
        UnknownEntityTypeError: The server is too old to know relationships.
        UnansweredError: The server gives no answer.
    """
    try:
        yield
    except OperationalError as error:
        words = str(error.info.get("message") or error.info.get("error") or error.message)
        response = getattr(error.__cause__, "response", None)
        kept_out = response is not None and response.status_code in _KEPT_OUT
        kind = DeniedError if kept_out else UnansweredError
        raise kind.to(question, reason=in_short(words, token)) from error
    except GraphError as error:
        words = _words(error.args[0] if error.args else "")
        if re.search(r"\b(ER_MODEL_RELATIONSHIP|ERModelRelationship)\b'", words):
            raise UnknownEntityTypeError.named(_ENTITY) from error
        raise DeniedError.to(question, reason=in_short(words, token)) from error
    except RequestException as error:
        raise UnansweredError.to(question, reason=in_short(broken(error), token)) from error


def broken(error: RequestException) -> str:
    """What keeps the server from answering, in words that people know.

    Args:
        error: What the client's HTTP library raises.

    >>> broken(JSONDecodeError("Expecting value", "<html>", 0))
    "what answers is not DataHub's metadata service"
    """
    if isinstance(error, JSONDecodeError):
        return "what answers is not DataHub's metadata service"
    if isinstance(error, exceptions.ConnectionError) and error.request:
        return "nothing answers at " + str(error.request.url)
    return f"{type(error).__name__}: {error}"


def _words(errors: object) -> str:
    """What the server says, each time with the part of the question that it is about."""
    if not isinstance(errors, list):
        return str(errors)
    said = []
    for error in errors:
        place = [str(step) for step in error.get("path") or ()]
        said.append(": ".join([*place[:1], str(error.get("message"))]))
    return "; ".join(said)


def search(graph: DataHubGraph, question: str, **variables: Any) -> Iterator[GraphQLAnswer]:  # noqa: ANN401 - JSON
    """Asks one question page by page.

    Args:
        graph: DataHub's server.
        question: Name of the question's file.
        variables: Those that the question has besides its page.

    Yields:
        The entities that are found.
    """
    start = 0
    while True:
        answer = ask(graph, question, **variables, start=start, count=_PAGE)
        found = answer["searchAcrossEntities"]
        yield from (result["entity"] for result in found["searchResults"])
        start += _PAGE
        if start >= found["total"] or not found["searchResults"]:
            return
