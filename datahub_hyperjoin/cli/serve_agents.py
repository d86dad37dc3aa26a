"""The command `hyperjoin mcp`, which starts the server for AI agents."""

import os

import click
from click.core import ParameterSource

from datahub_hyperjoin.agents.errors import MissingMcpError, UnguardedServerError
from datahub_hyperjoin.cli.connect import connected
from datahub_hyperjoin.joins import MIN_SCORE


@click.command("mcp")
@click.option("--http", is_flag=True, help="Serve HTTP; otherwise standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --http.")
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=8_765, show_default=True,
    help="Port for --http.",
)  # fmt: skip
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    help="Another name under which clients reach the server; may be repeated.",
)
@click.option("--read-only", is_flag=True, help="Leave out the tools that decide about joins.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=MIN_SCORE,
    show_default=True,
    help="Lowest joinability of a safe path, and of a safe join that nobody accepted, created or "
    "declared.",
)
def serve_agents(
    *, http: bool, host: str, port: int, names: tuple[str, ...], read_only: bool, min_score: float
) -> None:
    """Answer AI agents' questions about joins, through the Model Context Protocol (MCP).

    Agents can look for safe joins and paths, and accept or reject joins for their users, or undo
    decisions. Over HTTP, the address is http://HOST:PORT/mcp. If HYPERJOIN_MCP_TOKEN is set,
    clients must send it as a bearer token. Decisions over HTTP, and other hosts than this machine,
    require it.
    """
    _check_options(http=http)
    with connected() as graph:
        # The package is optional, and the parsers of SQL take a second to import.
        try:
            from datahub_hyperjoin.agents import server as web  # noqa: PLC0415
            from datahub_hyperjoin.agents.tools import JoinTools  # noqa: PLC0415
            from datahub_hyperjoin.http_limits import serve_within_limits  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MissingMcpError.for_command() from error
        server = web.create_server(JoinTools(graph, min_score=min_score), read_only=read_only)
        if http:
            token = os.environ.get(web.TOKEN_VARIABLE, "")
            if not (token or read_only):
                raise UnguardedServerError.deciding_without_token(web.TOKEN_VARIABLE)
            app = web.create_app(server, host=host, names=names, token=token)
            click.echo(f"Agents find this server at http://{host}:{port}/mcp", err=True)
            serve_within_limits(app, host=host, port=port)
        else:
            server.run()


def _check_options(*, http: bool) -> None:
    """Refuse options that would have no effect."""
    context = click.get_current_context()
    for name, option in (("host", "--host"), ("port", "--port"), ("names", "--allow-host")):
        if not http and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            message = f"{option} needs --http."
            raise click.UsageError(message)
