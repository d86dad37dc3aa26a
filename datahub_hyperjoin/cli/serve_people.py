"""The command `hyperjoin serve`, which serves a web page with the catalog's joins."""

from contextlib import nullcontext

import click

from datahub_hyperjoin.cli.connect import connected, connector, frontend_connector, reporting
from datahub_hyperjoin.service.address import Address, origin_of, site_of
from datahub_hyperjoin.service.errors import MissingServiceError


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
def serve_people(*, host: str, port: int, url: str, datahub_url: str, frontend_url: str) -> None:
    """Serve a page on which people accept and reject the joins of DataHub.

    Each person signs in with an access token of DataHub, or has signed in to DataHub's own pages,
    and sees and changes what this person may. `emit.embed` in a recipe shows the page in the
    Preview tab of each dataset.
    """
    # A wrong setting stops the command, not a person's sign-in.
    with reporting(), nullcontext() if frontend_url else connected():
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
            connect_as, address, frames=datahub, shared_with=datahub if frontend_url else ""
        )
        click.echo(f"The joins are at {shown}", err=True)
        serve_within_limits(service, host=host, port=port)
