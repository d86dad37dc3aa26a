"""The command `hyperjoin watch`, which checks the watched joins of a recipe."""

from contextlib import closing
from pathlib import Path

import click

from datahub_hyperjoin.cli.output import print_result
from datahub_hyperjoin.cli.recipes import open_recipe
from datahub_hyperjoin.wording import number_of

BROKEN = 3
"""The status with which the command ends if a join is broken; usual errors have 1 and 2."""


@click.command("watch")
@click.option(
    "-c",
    "--recipe",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The recipe whose runs write the watched joins.",
)
def watch_joins(*, recipe: Path) -> None:
    """Check the watched joins, and tell DataHub which of them hold.

    It searches for no joins and reads no tables but those of watched joins, so it may run after
    each load. The key `emit.watch` of the recipe says which joins are watched; `datahub ingest`
    begins to watch them. The status is 0 if all joins hold, and 3 if a join is broken or cannot be
    checked.
    """
    with closing(open_recipe(recipe)) as source:
        if not source.config.emit.watch:
            message = f"{recipe}: `emit.watch` is off. Set it, and run `datahub ingest` once"
            raise click.ClickException(message)
        if not source.ctx.graph:
            message = (
                f"{recipe}: watched joins are kept in DataHub, and the recipe has no server. Use a "
                "`datahub-rest` sink, or set `datahub_api` beside `source`"
            )
            raise click.ClickException(message)
        watched = source.watch()
    if not watched:
        click.echo(
            "No join is watched yet: `datahub ingest` with this recipe begins to watch them."
        )
        return
    wrong = [each for each in watched if each.news]
    for each in wrong:
        print_result(each.news)
        if each.anti_join:
            print_result(f"{each.anti_join};\n")
    checked = number_of(len(watched), "watched join")
    click.echo(f"{checked}, of which {len(wrong) or 'none'} broken or not checked.")
    if wrong:
        raise click.exceptions.Exit(BROKEN)
