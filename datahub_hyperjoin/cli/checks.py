"""The commands `hyperjoin check`, which checks a recipe, and `hyperjoin evaluate`."""

import sys
from pathlib import Path

import click

from datahub_hyperjoin.cli.connect import connected, read_settings
from datahub_hyperjoin.cli.output import print_warnings
from datahub_hyperjoin.metadata.urns import NAMESPACE
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


def _create(_: click.Context, __: click.Parameter, folder: Path | None) -> Path | None:
    """Create the output folder before the evaluation starts.

    An evaluation may take hours, so an unusable folder is reported first.
    """
    try:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{str(folder)!r} cannot be created: {error.strerror}. Use another folder"
        raise click.BadParameter(message) from error
    return folder


@click.command("evaluate")
@click.argument(
    "folders", metavar="FOLDER...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of times to train and measure. The seeds are model.seed, model.seed + 1 and "
    "so on.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False, writable=True),
    callback=_create,
    help="Folder for evaluation.txt, evaluation.csv and predictions-full.csv. With several lakes, "
    "the predictions of each lake go to a subfolder of their own.",
)
@click.option(
    "--setting", type=click.Choice(["ours", "paper"]), help="Shorthand for --set model.setting=..."
)
@click.option(
    "--epochs", type=click.IntRange(min=1), help="Shorthand for --set model.training.epochs=..."
)
@click.option(
    "--set",
    "texts",
    metavar="KEY=VALUE",
    multiple=True,
    help="Set a key of a recipe's `source.config`; may be repeated.",
)
def evaluate_rankings(
    *,
    folders: tuple[Path, ...],
    seeds: int,
    out: Path | None,
    setting: str | None,
    epochs: int | None,
    texts: tuple[str, ...],
) -> None:
    """Measure the quality of rankings on lakes with known joins.

    Each FOLDER has tables/*.csv, queries.csv (table, column) and ground_truth.csv (query_table,
    query_column, candidate_table, candidate_column). Candidates are ranked as in
    `datahub ingest`. All metrics have 95 % confidence intervals.
    """
    # torch and Spark take seconds to import, which the other commands should not wait for.
    from datahub_hyperjoin import evaluate as evaluation  # noqa: PLC0415
    from datahub_hyperjoin.model.config.sections import find_unused_keys  # noqa: PLC0415

    short = {"model.setting": setting, "model.training.epochs": epochs}
    settings = evaluation.parse_settings(texts)
    settings |= {key: value for key, value in short.items() if value is not None}
    config = evaluation.recipe_config(settings).model
    if keys := find_unused_keys(config):
        names = ", ".join(keys)
        click.echo(f"Without effect, as no network is trained: {names}", err=True)
    results = []
    for result in evaluation.evaluate(
        folders,
        [evaluation.Pipeline("full", "full", config)],
        settings=settings,
        seeds=seeds,
        progress=evaluation.EvaluationProgress(lambda line: click.echo(line, err=True)),
    ):
        results.append(result)
        click.echo(f"\n{evaluation.as_text(result)}\n")
        if out:
            evaluation.write_results(out, results, apart=len(folders) > 1)


_ENTITIES = {
    "erModelRelationship": "relationships",
    "query": "queries",
    "document": "documents",
    "glossaryTerm": "terms",
    "structuredProperty": "structured properties",
    "tag": "tags",
    "glossaryNode": "term groups",
    "assertion": "watched joins",
    "semanticModel": "semantic models",
    "dataJob": "checkpoints",
    "": "columns and datasets with empty aspects",
}
_WITHDRAW = "Run each recipe with all layers off first, as docs/uninstall.md says"


@click.command("remove")
@click.option(
    "--namespace",
    default=NAMESPACE,
    show_default=True,
    help="`emit.namespace` of the recipes whose metadata is removed.",
)
@click.option("--yes", is_flag=True, help="Delete. Without it, only say what would be deleted.")
def remove_leftovers(*, namespace: str, yes: bool) -> None:
    """Delete for good what runs wrote into DataHub and withdrew.

    First run the recipes with all layers off, which hides it. What people decided, edited or
    described stays.
    """
    # DataHub's client takes long to import, which the other commands should not wait for.
    from datahub_hyperjoin.emit.remove import delete_for_good, find_leftovers  # noqa: PLC0415

    with connected() as graph:
        found = find_leftovers(graph, namespace)
        if found.visible:
            click.echo(f"Still shown, and left: {found.visible:,}. {_WITHDRAW}", err=True)
        if found.decided:
            click.echo(f"Relationships left, as people decided: {found.decided:,}", err=True)
        groups = {**found.removable, "": [*found.empty]}
        told = ", ".join(
            f"{_ENTITIES.get(entity, entity)}: {len(some):,}"
            for entity, some in groups.items()
            if some
        )
        if not told:
            click.echo("Nothing to delete")
        elif not yes:
            click.echo(f"Would delete {told}. Add --yes to do so")
        else:
            deleting, length = delete_for_good(graph, found), sum(map(len, groups.values()))
            with click.progressbar(deleting, length=length, file=sys.stderr) as progress:
                deleted = sum(1 for _ in progress)
            click.echo(f"Deleted {told} ({deleted:,} in all)")
