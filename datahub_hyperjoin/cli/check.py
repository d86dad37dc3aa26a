"""The command `hyperjoin check`, which checks a recipe without running it."""

from pathlib import Path

import click

from datahub_hyperjoin.cli.connect import read_settings
from datahub_hyperjoin.cli.warnings import print_warnings
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import number_of


@click.command("check")
@click.argument("recipe", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def check_recipe_file(*, recipe: Path) -> None:
    """Check RECIPE, and all that it reads and writes, before `datahub ingest` runs it.

    Every problem is one sentence that names the key and the fix: in the file itself, variables,
    keys, folders, databases, DataHub's server and its token. Nothing is written. The exit status is
    1 if there are problems.
    """
    from datahub_hyperjoin.spark.memory import gc_paused  # noqa: PLC0415

    # Its libraries take seconds to import, which the other commands should not wait for.
    with gc_paused():
        from datahub_hyperjoin.recipe_check import check_recipe  # noqa: PLC0415

    check = check_recipe(recipe, read_settings)
    print_warnings(check.warnings)
    if check.problems:
        heading = f"{recipe} has {number_of(len(check.problems), 'problem')}:"
        click.echo("\n- ".join(map(visible, [heading, *check.problems])), err=True)
        raise SystemExit(1)
    click.echo("\n".join(map(visible, [f"{recipe} can run.", *check.description])))
