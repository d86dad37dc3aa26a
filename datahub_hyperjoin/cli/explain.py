"""The command `hyperjoin explain`, which explains why columns are joined or not."""

from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from datahub_hyperjoin.cli.output import with_format
from datahub_hyperjoin.cli.recipes import open_recipe
from datahub_hyperjoin.cli.sources import decision_file, open_source, read_known_joins, with_sources
from datahub_hyperjoin.graphql.errors import UnknownNameError
from datahub_hyperjoin.joins import rename_columns
from datahub_hyperjoin.joins.describe import describe
from datahub_hyperjoin.joins.lists import short_columns
from datahub_hyperjoin.visible import visible_json

if TYPE_CHECKING:
    from datahub_hyperjoin.catalog_facts import CatalogFacts
    from datahub_hyperjoin.cli.sources import JoinSource
    from datahub_hyperjoin.find import LakeComparison
    from datahub_hyperjoin.model.config import ModelConfig

    _Run = tuple[LakeComparison, CatalogFacts, ModelConfig]


@click.command("explain")
@click.argument("column")
@click.argument("other", required=False)
@click.option(
    "-c",
    "--recipe",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The recipe whose run is explained. Its `profile.store` saves the time to read the "
    "tables again. Without it and --in, DataHub tells what it knows about the join.",
)
@with_format("text")
@with_sources
def explain_columns(
    *,
    column: str,
    other: str | None,
    recipe: Path | None,
    sources: tuple[str, ...],
    decisions: Path | None,
    output_format: str,
) -> None:
    """Explain why COLUMN and OTHER are suggested as a join, or why they are not.

    Write columns as table.column. With a recipe, or data in --in, the answer lists every signal of
    the pair with its source, the score, the rank of each column for the other one, the evidence
    and the role; nothing is written into DataHub. Without OTHER, it says whether COLUMN is a key
    column, and what is suggested for it.
    """
    as_json = output_format == "json"
    if recipe and sources:
        message = "--recipe names the tables already. Leave out --in"
        raise click.UsageError(message)
    file = decision_file(sources, decisions)
    known = read_known_joins(sources, file)
    if recipe or (sources and known is None):
        run = _run_recipe(recipe) if recipe else _run_sources(sources, file)
        text = _explain_run(run, column, other, as_json=as_json)
    elif other:
        with nullcontext(known) if known else open_source((), None) as source:
            text = _explain_join(source, column, other, as_json=as_json)
    else:
        message = (
            "A single column needs data: add --recipe, or --in with a folder or database, or name "
            "a second column"
        )
        raise click.UsageError(message)
    click.echo(text)


def _explain_join(source: "JoinSource", column: str, other: str, *, as_json: bool) -> str:
    try:
        join = source.find_join(f"{column} = {other}")
    except UnknownNameError as error:
        end = "" if str(error).endswith("?") else "."
        message = (
            f"{error}{end} To see why a pair is not suggested, add --recipe, or --in with a folder "
            "or database"
        )
        raise click.ClickException(message) from error
    if as_json:
        return visible_json(describe(join))
    # The first line tells the whole names.
    phrases = {**describe(rename_columns(join, short_columns([join]))), "join": join.arrows}
    return "\n".join(f"{name}: {phrase}" for name, phrase in phrases.items())


def _run_recipe(recipe: Path) -> "_Run":
    with closing(open_recipe(recipe)) as source:
        return *source.compare(), source.config.model


def _run_sources(sources: tuple[str, ...], decisions: Path) -> "_Run":
    from datahub_hyperjoin.decision_file import read_decision_file  # noqa: PLC0415
    from datahub_hyperjoin.discovery.progress import RunProgress  # noqa: PLC0415
    from datahub_hyperjoin.discovery.run import compare_sources  # noqa: PLC0415 (as below)
    from datahub_hyperjoin.model.config import ModelConfig  # noqa: PLC0415

    model = ModelConfig()
    written = read_decision_file(decisions)
    return *compare_sources(sources, RunProgress(), model, written), model


def _explain_run(run: "_Run", column: str, other: str | None, *, as_json: bool) -> str:
    # Its libraries take seconds to import, which the other commands should not wait for.
    from datahub_hyperjoin import explain  # noqa: PLC0415

    comparison, facts, model = run
    profiles = comparison.findings.profiles
    profile = explain.find_profile(column, profiles)
    if other is None:
        alone = explain.explain_column(profile, comparison, model)
        return visible_json(explain.as_record(alone)) if as_json else explain.describe_column(alone)
    second = explain.find_profile(other, profiles)
    pair = explain.explain_pair(profile, second, comparison, facts, model)
    return visible_json(explain.as_record(pair)) if as_json else explain.describe_pair(pair)
