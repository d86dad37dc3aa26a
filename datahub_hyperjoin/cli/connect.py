"""Connect to DataHub with the settings of the command `datahub`."""

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import click
from datahub.cli.config_utils import MissingConfigError, load_client_config
from datahub.configuration.common import ConfigurationError
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import ClientMode, DatahubClientConfig
from requests import RequestException

from datahub_hyperjoin.client_errors import explain
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql.errors import NoServerError
from datahub_hyperjoin.redact import in_short

_RETRIES = 2
"""A few seconds, since a user waits; DataHub's own default takes half a minute."""

_NOBODY = "nobody"
"""The token of a person without one. A server that checks tokens refuses it."""


@contextmanager
def connected() -> Iterator[DataHubGraph]:
    """Connect to the DataHub server that `~/.datahubenv` or DATAHUB_GMS_URL names.

    Yields:
        The client, which is closed afterwards.

    Raises:
        ClickException: An error of this package, as one sentence.
    """
    # urllib3 logs each retry with the request; only the last error is reported, by us.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    try:
        graph = connect()
        try:
            yield graph
        finally:
            graph.close()
    except HyperJoinError as error:
        raise click.ClickException(str(error)) from error


def connect() -> DataHubGraph:
    """Create a DataHub client and test its connection.

    The client has the settings of the command `datahub`.

    Raises:
        NoServerError: There are no settings, they cannot be parsed, or the server cannot be
            reached.
    """
    return _open(_read_settings())


def connector() -> Callable[[str], DataHubGraph]:
    """Return a function that creates a DataHub client from a person's own token.

    The function has the settings of the command `datahub`, apart from its token. It raises
    `NoServerError` if the server cannot be reached.

    Raises:
        NoServerError: There are no settings, or they cannot be parsed.
    """
    settings = _read_settings()
    headers = {
        name: value
        for name, value in (settings.extra_headers or {}).items()
        if name.lower() != "authorization"
    }

    def connect_as(token: str) -> DataHubGraph:
        # Without a token, the client would use the credentials of this machine.
        own = {"token": token or _NOBODY, "extra_headers": headers}
        return _open(settings.model_copy(update=own))

    return connect_as


def _read_settings() -> DatahubClientConfig:
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


def _open(config: DatahubClientConfig) -> DataHubGraph:
    graph = DataHubGraph(config)
    try:
        graph.test_connection()
    except ConfigurationError as error:
        raise NoServerError.because(in_short(str(error), config.token)) from error
    except RequestException as error:
        raise NoServerError.because(explain(error, config.token)) from error
    return graph
