"""The commands that serve joins: `hyperjoin page`, `hyperjoin mcp` and `hyperjoin serve`."""

import os
from contextlib import closing, nullcontext, suppress
from pathlib import Path

import click
from click.core import ParameterSource

from datahub_hyperjoin.agents.errors import MissingMcpError, UnguardedServerError
from datahub_hyperjoin.cli.connect import connected, connector, frontend_connector
from datahub_hyperjoin.cli.output import print_warnings
from datahub_hyperjoin.cli.recipes import open_recipe
from datahub_hyperjoin.joins import MIN_SCORE
from datahub_hyperjoin.service.address import Address, origin_of, site_of
from datahub_hyperjoin.service.errors import MissingServiceError


@click.command("page")
@click.argument("page", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--serve",
    is_flag=True,
    help="Write each decision to the file at once, until Ctrl-C. Only this machine can open the "
    "address, which contains a token.",
)
@click.option(
    "--decisions",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --serve: CSV or JSON file to write to; by default the one that the page names, in "
    "the current folder.",
)
@click.option("--by", default="", help="With --serve: who decides, for the file of decisions.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8_767,
    show_default=True,
    help="With --serve: port to listen to; 0 for any.",
)
def open_page(*, page: Path, serve: bool, decisions: Path | None, by: str, port: int) -> None:
    """Open PAGE, which `hyperjoin find --page` or a recipe wrote, in the browser.

    Decisions stay in the browser until you download them. With --serve, they are written to the
    file, which the next run reads by `--decisions` or `decisions` of the recipe.
    """
    # They take a second to import, which the other commands should not wait for.
    from datahub_hyperjoin.decision_file import read_decision_file  # noqa: PLC0415
    from datahub_hyperjoin.page.local import LocalPage, LocalServer  # noqa: PLC0415

    opened = LocalPage.read(page, decisions, by=by)
    if not serve:
        address = page.absolute().as_uri()
        if click.launch(address):
            click.echo(f"No browser was found here. Open {address} in one", err=True)
        return
    warnings: list[str] = []
    # A faulty file stops the command, not a decision.
    read_decision_file(opened.file, lambda title, _, why: warnings.append(f"{title}: {why}"))
    print_warnings(warnings)
    with LocalServer(opened, port) as server, suppress(KeyboardInterrupt):
        click.echo(f"Decisions are written to {opened.file.absolute()}", err=True)
        click.echo(f"The joins are at {server.url}", err=True)
        server.serve_forever()


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


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen to.")
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=8_766, show_default=True,
    help="Port to listen to.",
)  # fmt: skip
@click.option(
    "--url",
    default="",
    metavar="URL",
    help="Address of the proxy through which browsers reach the service.",
)
@click.option(
    "--datahub-url",
    default="",
    metavar="URL",
    help="Address of DataHub's pages, which then may show those of the service in a frame.",
)
@click.option(
    "--frontend-url",
    default="",
    metavar="URL",
    help="Address of datahub-frontend for this service. Whoever has signed in to DataHub then "
    "needs no token here. Needs --datahub-url, on the host of this service.",
)
@click.option(
    "-c",
    "--recipe",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Recipe with whose connections the rows of joins are counted that people suggest. Without "
    "it, the next run counts them.",
)
def serve_people(
    *,
    host: str,
    port: int,
    url: str,
    datahub_url: str,
    frontend_url: str,
    recipe: Path | None,
) -> None:
    """Serve a page on which people accept and reject the joins of DataHub.

    Each person signs in with an access token of DataHub, or has signed in to DataHub's own pages,
    and sees and changes what this person may. `emit.embed` in a recipe shows the page in the
    Preview tab of each dataset.
    """
    # A wrong setting stops the command, not a person's sign-in.
    with (
        nullcontext() if frontend_url else connected(),
        closing(open_recipe(recipe)) if recipe else nullcontext() as source,
    ):
        address = Address.of(host, port, url)
        datahub = origin_of("--datahub-url", datahub_url) if datahub_url else ""
        # The packages are optional.
        try:
            from datahub_hyperjoin.http_limits import serve_within_limits  # noqa: PLC0415
            from datahub_hyperjoin.service.app import create_service  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MissingServiceError.for_command() from error
        if frontend_url:
            shown = address.beside(datahub)
            connect_as = frontend_connector("".join(site_of("--frontend-url", frontend_url)))
        else:
            shown, connect_as = address.url, connector()
        service = create_service(
            connect_as,
            address,
            frames=datahub,
            shared_with=datahub if frontend_url else "",
            measure=source.measure if source else None,
        )
        click.echo(f"The joins are at {shown}", err=True)
        serve_within_limits(service, host=host, port=port)
