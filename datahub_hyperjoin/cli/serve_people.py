"""The command `hyperjoin serve`, which serves a web page with the catalog's joins."""

import click

from datahub_hyperjoin.cli.connect import connected, connector
from datahub_hyperjoin.service.address import Address, origin_of
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
def serve_people(*, host: str, port: int, url: str, datahub_url: str) -> None:
    """Serve a page on which people accept and reject the joins of DataHub.

    Each person signs in with an access token of DataHub, and sees and changes what its owner may.
    `emit.embed` in a recipe shows the page in the Preview tab of each dataset.
    """
    with connected():  # so that a wrong setting stops the command, not a person's sign-in
        address = Address.of(host, port, url)
        frames = origin_of("--datahub-url", datahub_url) if datahub_url else ""
        # The packages are optional.
        try:
            import uvicorn  # noqa: PLC0415

            from datahub_hyperjoin.service.app import create_service  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MissingServiceError.for_command() from error
        service = create_service(connector(), address, frames=frames)
        click.echo(f"The joins are at {address.origins[0]}", err=True)
        uvicorn.run(service, host=host, port=port, log_level="warning", server_header=False)
