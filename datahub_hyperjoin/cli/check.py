"""The command `hyperjoin check`, which checks a recipe without running it."""

from pathlib import Path

import click

from datahub_hyperjoin.cli.connect import read_settings

_MAX_WARNINGS = 20


@click.command("check")
@click.argument("recipe", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def check_recipe_file(*, recipe: Path) -> None:
    """Check RECIPE, and all that it reads and writes, before `datahub ingest` runs it.

    Every problem is one sentence that names the key and the fix: in the file itself, variables,
    keys, folders, databases, DataHub's server and its token. Nothing is written. The exit status is
    1 if there are problems.
    """
    from datahub_hyperjoin.spark.gc_tuning import gc_paused  # noqa: PLC0415

    # Its libraries take seconds to import, which the other commands should not wait for.
    with gc_paused():
        from datahub_hyperjoin.recipe_check import check_recipe  # noqa: PLC0415

    check = check_recipe(recipe, read_settings)
    for warning in check.warnings[:_MAX_WARNINGS]:
        click.echo(warning, err=True)
    if len(check.warnings) > _MAX_WARNINGS:
        click.echo(f"... and {len(check.warnings) - _MAX_WARNINGS} more.", err=True)
    if check.problems:
        count = len(check.problems)
        noun = "1 problem" if count == 1 else f"{count} problems"
        click.echo("\n- ".join([f"{recipe} has {noun}:", *check.problems]), err=True)
        raise SystemExit(1)
    click.echo("\n".join([f"{recipe} can run.", *check.outlook]))
