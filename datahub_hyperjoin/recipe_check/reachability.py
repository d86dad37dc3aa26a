"""Check that servers, databases and output files of a recipe can be reached."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from datahub.configuration.common import ConfigurationError
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import ClientMode, DatahubClientConfig
from requests import RequestException
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from datahub_hyperjoin.client_errors import explain, limit_answers
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql.errors import DeniedError
from datahub_hyperjoin.graphql.read import signed_in_user
from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.recipe.config import obstacle_to_file
from datahub_hyperjoin.recipe_check.errors import UnusableServerError
from datahub_hyperjoin.redact import redact
from datahub_hyperjoin.spark.databases.system import system_named

_TIMEOUT = 3.0
"""Seconds in which a server has to answer."""


def owner_of_token(config: DatahubClientConfig, key: str) -> str:
    """Ask a DataHub server who owns the token in `config`.

    Args:
        key: The section of the recipe that has them, such as `sink.config`.
    """
    token = config.token
    try:
        with reading_server(config.model_copy(update={"timeout_sec": _TIMEOUT})) as graph:
            graph.test_connection()
            return signed_in_user(graph)
    except DeniedError as error:
        reason = explain(error.__cause__, token) if isinstance(error.__cause__, Exception) else ""
        has_token = bool(token or config.auth)
        build = UnusableServerError.refusing if has_token else UnusableServerError.closed
        raise build(key, reason) from error
    except (ConfigurationError, HyperJoinError) as error:
        raise UnusableServerError.unreached(key, redact(str(error), token)) from error
    except (RequestException, ValueError) as error:
        raise UnusableServerError.unreached(key, explain(error, token)) from error


@contextmanager
def reading_server(config: DatahubClientConfig) -> Iterator[DataHubGraph]:
    """Open a client of a DataHub server for a `with` block, without the lines that it logs."""
    own = {"retry_max_times": 0, "client_mode": ClientMode.CLI}
    with _quiet(), closing(DataHubGraph(config.model_copy(update=own))) as graph:
        limit_answers(graph)
        yield graph


def database_fault(database: Database, key: str) -> str:
    """Describe the fault if nothing listens at the address of a database.

    A driver alone may wait for minutes.

    Args:
        key: Its connection in the recipe, such as `connections[0]`.

    Returns:
        A sentence if nothing answers; else an empty text. It is also empty if the URL names no
        port that can be tried; then the driver tells.
    """
    try:
        url = make_url(database.url.get_secret_value())
    except ArgumentError:
        return ""
    port = url.port or system_named(url.get_backend_name()).port
    if not url.host or not port or url.query.get("host"):
        return ""
    try:
        socket.create_connection((url.host, port), timeout=_TIMEOUT).close()
    except (OSError, UnicodeError):
        return (
            f"`{key}.database.url`: nothing answers at {url.host}:{port}. Start the database, or "
            "correct host and port"
        )
    return ""


def file_fault(filename: str) -> str:
    """Return why DataHub's file sink cannot write its file, or an empty text if it can.

    Args:
        filename: The `filename` of the sink. Object stores are not checked.

    Returns:
        A sentence if the file cannot be written; else an empty text.
    """
    if "://" in filename:
        return ""
    path = Path(filename)
    try:
        obstacle = obstacle_to_file(path)
    except OSError as error:
        obstacle = f"the system reports: {error.strerror}"
    if not obstacle and path.exists() and not os.access(path, os.W_OK):
        obstacle = "it cannot be written to"
    if not obstacle:
        return ""
    return f"`sink.config.filename` is {filename!r}: {obstacle}. Name another file"


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence logging in the `with` block, because the block's errors are reported as faults."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
