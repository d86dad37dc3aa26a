"""The server that DataHub's own command line talks to."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import click
from datahub.cli.config_utils import MissingConfigError, load_client_config
from datahub.configuration.common import ConfigurationError
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import ClientMode
from requests import RequestException

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql.ask import broken
from datahub_hyperjoin.graphql.errors import NoServerError
from datahub_hyperjoin.redact import in_short

_RETRIES = 2
"""A person waits for a few seconds; DataHub's own default is half a minute."""


@contextmanager
def connected() -> Iterator[DataHubGraph]:
    """A client of the server that `datahub init` or DATAHUB_GMS_URL names.

    Yields:
        The client, which is closed afterwards.

    Raises:
        ClickException: With one sentence for every error of ours.
    """
    # The client tells of each attempt, with what it sends; we tell of the last.
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
    """A client with the settings that DataHub's users have already.

    Returns:
        The client of a server that answers.

    Raises:
        NoServerError: There are no settings, they make no sense, or the server does not answer.
    """
    try:
        # On a malformed file the client prints it, token and all, and exits.
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            config = load_client_config()
    except MissingConfigError as error:
        raise NoServerError.without_settings() from error
    except (SystemExit, ValueError) as error:
        raise NoServerError.malformed() from error
    config.client_mode = ClientMode.CLI
    if config.retry_max_times is None:
        config.retry_max_times = _RETRIES
    graph = DataHubGraph(config)
    try:
        graph.test_connection()
    except ConfigurationError as error:
        raise NoServerError.because(in_short(str(error), config.token)) from error
    except RequestException as error:
        raise NoServerError.because(in_short(broken(error), config.token)) from error
    return graph
