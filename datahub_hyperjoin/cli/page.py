"""The command `hyperjoin page`, which opens a page of joins."""

from contextlib import suppress
from pathlib import Path

import click

from datahub_hyperjoin.cli.connect import reporting
from datahub_hyperjoin.cli.warnings import print_warnings


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

    with reporting():
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
