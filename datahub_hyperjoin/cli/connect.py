"""Connect to DataHub with the settings of the command `datahub`, or through DataHub's frontend."""

import io
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, redirect_stderr, redirect_stdout

import requests
from datahub.cli.config_utils import MissingConfigError, load_client_config
from datahub.configuration.common import ConfigurationError
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import ClientMode, DatahubClientConfig
from requests import RequestException

from datahub_hyperjoin.client_errors import (
    MALFORMED,
    explain,
    is_sendable,
    limit_answers,
    read_within_limit,
)
from datahub_hyperjoin.graphql.errors import NoServerError
from datahub_hyperjoin.service.errors import SharedSignInError
from datahub_hyperjoin.visible import redact

_RETRIES = 2
"""Number of times that a failed request is repeated: few, because a user waits. DataHub's default
takes half a minute."""

_NOBODY = "nobody"
"""Placeholder token for people who have no token. A server that checks tokens refuses it."""


_TIMEOUT = 10
"""Maximum number of seconds until DataHub's frontend answers the first request."""


def connected() -> AbstractContextManager[DataHubGraph]:
    """Connect to the DataHub server that `~/.datahubenv` or DATAHUB_GMS_URL names."""
    return closing(_open(read_settings()))


def connector() -> Callable[[str], DataHubGraph]:
    """Return a function that creates a DataHub client from a person's own token.

    The function has the settings of the command `datahub`, apart from its token. It raises
    `NoServerError` if the server cannot be reached.
    """
    settings = read_settings()
    given = (settings.extra_headers or {}).items()
    headers = {name: value for name, value in given if name.lower() != "authorization"}

    def connect_as(token: str) -> DataHubGraph:
        # Without a token, the client would use the credentials of this machine.
        own = {"token": token or _NOBODY, "extra_headers": headers}
        return _open(settings.model_copy(update=own))

    return connect_as


def frontend_connector(url: str) -> Callable[[str], DataHubGraph]:
    """Return a function that connects to DataHub's frontend with a person's cookies.

    The frontend passes the client's requests on to DataHub's server in the name of the person whom
    the cookies name. The settings of the command `datahub` are not used.
    """
    _report_errors_alone()
    try:
        hooks = {"response": read_within_limit}
        answer = requests.get(f"{url}/config", timeout=_TIMEOUT, hooks=hooks)
        is_frontend = answer.json()["config"]["application"] == "datahub-frontend"
    except RequestException as error:
        raise SharedSignInError.not_frontend(url, explain(error, None)) from error
    except MALFORMED as error:
        raise SharedSignInError.not_frontend(url, "another server answers") from error
    if not is_frontend:
        raise SharedSignInError.not_frontend(url, "another server answers")

    def connect_with(cookies: str) -> DataHubGraph:
        # The frontend prefers its cookie to a token. Without a token, and once the cookie has
        # expired, the client would use the credentials of this machine.
        graph = DataHubGraph(
            DatahubClientConfig(
                server=f"{url}/api/gms",
                token=_NOBODY,
                extra_headers={"Cookie": cookies},
                client_mode=ClientMode.CLI,
                retry_max_times=_RETRIES,
            )
        )
        limit_answers(graph)
        return graph

    return connect_with


def read_settings() -> DatahubClientConfig:
    """Read the settings of the command `datahub`, with fewer retries as the default."""
    try:
        # For a malformed file the client prints its content, including the token, and exits.
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            config = load_client_config()
    except MissingConfigError as error:
        raise NoServerError.without_settings() from error
    except (SystemExit, ValueError) as error:
        raise NoServerError.malformed() from error
    config.client_mode = ClientMode.CLI
    if config.retry_max_times is None:
        config.retry_max_times = _RETRIES
    return config


def _report_errors_alone() -> None:
    # urllib3 logs each retry with the request; only the last error is reported, by us.
    logging.getLogger("urllib3").setLevel(logging.ERROR)


def _open(config: DatahubClientConfig) -> DataHubGraph:
    _report_errors_alone()
    if not is_sendable(config.token or ""):
        raise NoServerError.with_odd_token()
    graph = DataHubGraph(config)
    limit_answers(graph)
    try:
        graph.test_connection()
    except ConfigurationError as error:
        raise NoServerError.because(redact(str(error), config.token)) from error
    except RequestException as error:
        raise NoServerError.because(explain(error, config.token)) from error
    return graph
