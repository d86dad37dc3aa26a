import gzip
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
import requests
from datahub.configuration.common import GraphError, OperationalError
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig
from requests import HTTPError, Request, RequestException, Response, exceptions
from requests.exceptions import SSLError

from datahub_hyperjoin import client_errors
from datahub_hyperjoin.catalog.entities import reading
from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.client_errors import explain, is_denied, limit_answers, read_within_limit
from datahub_hyperjoin.errors import UnknownEntityTypeError

TOKEN = "c2VjcmV0"  # noqa: S105 - of no server


@pytest.fixture
def graph() -> DataHubGraph:
    """Return a client for a port on which no server listens."""
    server = "http://user:password@127.0.0.1:1"
    return DataHubGraph(DatahubClientConfig(server=server, token=TOKEN, retry_max_times=0))


def answer(status: int, reason: str, body: str) -> HTTPError:
    response = Response()
    response.status_code, response.reason = status, reason
    response._content = body.encode()  # noqa: SLF001 - as the library's own tests make one
    return HTTPError("for url: http://user:password@127.0.0.1:1/", response=response)


def test_an_unreachable_server_is_named_with_the_fix(graph: DataHubGraph) -> None:
    message = (
        r"Tables cannot be read from DataHub: nothing answers at http://\*\*\*@127.0.0.1:1/api/graphql"
        r"\. Check the URL and the token of the recipe's `sink` or `datahub_api`, and that the "
        r"token's owner may read metadata$"
    )
    with pytest.raises(UnreadableCatalogError, match=message) as raised, reading(graph, "Tables"):
        graph.execute_graphql("{ me { corpUser { urn } } }")
    assert raised.value.__cause__ is not None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (json.dumps({"message": f"Token {TOKEN} has expired"}), r": Token \*\*\* has expired\."),
        (json.dumps({"error": "Unauthorized"}), r": Unauthorized\."),
        (json.dumps(["no", "words"]), r"\."),
        ("<html>Please log in</html>", r"\."),
    ],
)
def test_a_refusal_quotes_the_server_without_secrets(
    graph: DataHubGraph, body: str, said: str
) -> None:
    refusal = answer(401, "Unauthorized", body)
    told = rf"^Tables cannot be read from DataHub: 401 Unauthorized{said} Check the URL"
    with pytest.raises(UnreadableCatalogError, match=told) as raised, reading(graph, "Tables"):
        raise refusal
    assert raised.value.__cause__ is refusal
    assert TOKEN not in str(raised.value)
    assert "password" not in str(raised.value)


def test_the_cause_of_the_clients_error_is_explained(graph: DataHubGraph) -> None:
    wrapped = OperationalError("Unable to get metadata from DataHub", {})
    wrapped.__cause__ = answer(403, "Forbidden", "{}")
    with (
        pytest.raises(UnreadableCatalogError, match=r"DataHub: 403 Forbidden\. Check"),
        reading(graph, "Tables"),
    ):
        raise wrapped


def test_a_long_message_is_shortened(graph: DataHubGraph) -> None:
    with pytest.raises(UnreadableCatalogError) as raised, reading(graph, "Tables"):
        raise GraphError("no " * 1000)
    assert len(str(raised.value)) < 600


UNKNOWN = "Failed to find entity with name erModelRelationship in EntityRegistry"
NO_VALUE = (
    "Variable 'types' has an invalid value: Invalid input for enum 'EntityType'. No value found "
    "for name 'ER_MODEL_RELATIONSHIP'"
)
NO_MEMBER = "Value 'ER_MODEL_RELATIONSHIP' does not exist in 'EntityType' enum."


@pytest.mark.parametrize(
    "error",
    [
        answer(400, "Bad Request", json.dumps({"error": UNKNOWN})),
        GraphError(f"Error executing graphql query: {[{'message': NO_VALUE}]}"),
        GraphError(f"Error executing graphql query: {[{'message': NO_MEMBER}]}"),
    ],
)
def test_an_unknown_entity_type_is_recognised(graph: DataHubGraph, error: Exception) -> None:
    message = (
        r"^DataHub's server has no entity type erModelRelationship\. Upgrade the server, or run "
        r"without the features that need it$"
    )
    with (
        pytest.raises(UnknownEntityTypeError, match=message),
        reading(graph, "Joins", entity="erModelRelationship"),
    ):
        raise error
    with pytest.raises(UnreadableCatalogError), reading(graph, "Queries", entity="query"):
        raise error


def test_other_errors_pass_unchanged(graph: DataHubGraph) -> None:
    with pytest.raises(ZeroDivisionError), reading(graph, "Tables"):
        _ = 1 / 0


def test_a_certificate_error_is_not_a_missing_server() -> None:
    request = Request("GET", "https://gms:8080").prepare()
    error = SSLError("certificate has expired", request=request)
    assert explain(error, TOKEN) == "SSLError: certificate has expired"
    refused = exceptions.ConnectionError("refused", request=request)
    assert explain(refused, TOKEN) == "nothing answers at https://gms:8080/"


@pytest.mark.parametrize(
    ("error", "denied"),
    [
        (answer(401, "Unauthorized", "{}"), True),
        (answer(403, "Forbidden", "{}"), True),
        (answer(500, "Server Error", "{}"), False),
        (GraphError([{"message": "no permission", "path": ["tag", "x"]}]), True),
        (OperationalError("Unable to get metadata from DataHub", {}), False),
        (SSLError("certificate has expired"), False),
    ],
)
def test_a_denied_request_is_not_a_failed_one(error: Exception, *, denied: bool) -> None:
    assert is_denied(error) is denied


def test_graphql_messages_name_their_field() -> None:
    errors = [{"message": "no permission", "path": ["tag", "x"]}, {"message": "unknown"}]
    assert explain(GraphError(errors), TOKEN) == "tag: no permission; unknown"


@pytest.fixture
def bomb() -> Iterator[str]:
    """Serve 64 MiB that gzip makes 64 KiB; yield the address."""
    packed = gzip.compress(b'"' + bytes(64 << 20) + b'"', 1)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(packed)))
            self.end_headers()
            with suppress(OSError):  # the client has gone
                self.wfile.write(packed)

        do_POST = do_GET  # noqa: N815 - the base class calls it so

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_answer_that_expands_is_read_up_to_a_limit(
    bomb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_errors, "_MOST_BYTES", 1 << 20)
    graph = DataHubGraph(DatahubClientConfig(server=bomb, token=TOKEN, retry_max_times=0))
    for _ in range(2):
        limit_answers(graph)
    tracemalloc.start()
    for ask in (graph.test_connection, lambda: graph.execute_graphql("{ me }")):
        with pytest.raises((RequestException, OperationalError), match="longer than 1 MiB"):
            ask()
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    with pytest.raises(RequestException) as raised:
        requests.get(bomb, hooks={"response": read_within_limit}, timeout=9)
    assert explain(raised.value, None) == "the answer is longer than 1 MiB"


def test_an_answer_within_the_limit_is_whole(bomb: str) -> None:
    answer = requests.get(bomb, hooks={"response": read_within_limit}, timeout=9)
    assert answer.content == b'"' + bytes(64 << 20) + b'"'
    assert requests.get(bomb, hooks={"response": read_within_limit}, timeout=9, stream=True).raw
