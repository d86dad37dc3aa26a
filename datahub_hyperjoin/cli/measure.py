"""`hyperjoin evaluate`: how good the rankings are on lakes whose joins are known."""

from collections.abc import Callable
from pathlib import Path

import click

from datahub_hyperjoin.errors import HyperJoinError

_SHORT = "datahub_hyperjoin.settings"
"""Where the command's context keeps settings that have an option of their own."""
_SIZES = "datahub_hyperjoin.sizes"
"""And where how many tables lakes are cut to."""
_RIVALS = "datahub_hyperjoin.rivals"
"""And where the names of rivals, none for all of them; nothing if none is measured."""


def _keep(key: str) -> Callable[[click.Context, click.Parameter, object], None]:
    """A callback that keeps an option's value as that of a recipe's key."""

    def keep(context: click.Context, _: click.Parameter, value: object) -> None:
        if value is not None:
            context.meta.setdefault(_SHORT, {})[key] = value

    return keep


def _keep_sizes(context: click.Context, _: click.Parameter, sizes: tuple[int, ...]) -> None:
    context.meta[_SIZES] = sorted(set(sizes))


def _keep_all_rivals(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 (click calls it)
    if wanted:
        context.meta[_RIVALS] = ()


def _keep_rivals(context: click.Context, _: click.Parameter, names: tuple[str, ...]) -> None:
    if names:
        context.meta.setdefault(_RIVALS, names)


def _make(_: click.Context, __: click.Parameter, folder: Path | None) -> Path | None:
    """Makes a folder, so that what would fail at the end fails at the beginning."""
    try:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{str(folder)!r} cannot be made: {error.strerror}. Give another folder"
        raise click.BadParameter(message) from error
    return folder


@click.command("evaluate")
@click.argument(
    "folders",
    metavar="FOLDER...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@click.option("--ablate", is_flag=True, help="Measure the product without each of its parts, too.")
@click.option(
    "--only",
    "names",
    metavar="NAME",
    multiple=True,
    help="Measure the whole and this: a part of what --ablate measures, as in 'w/o HIN', or one "
    "choice of the paper's, as in papers-loss; may be repeated.",
)
@click.option(
    "--rivals",
    is_flag=True,
    expose_value=False,
    callback=_keep_all_rivals,
    help="Measure methods of the literature, too.",
)
@click.option(
    "--rival",
    metavar="NAME",
    multiple=True,
    expose_value=False,
    callback=_keep_rivals,
    help="Measure this method of the literature, as in JOSIE or lsh-ensemble; may be repeated.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How often each method is trained and measured, with seeds counted from model.seed.",
)
@click.option(
    "--tables",
    metavar="N",
    type=int,
    multiple=True,
    expose_value=False,
    callback=_keep_sizes,
    help="Measure lakes cut to this many tables, drawn anew for each seed; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False, writable=True),
    callback=_make,
    help="Folder for evaluation.txt, evaluation.csv, rankings.svg, reliability.svg and "
    "predictions-METHOD.csv; of several lakes, each has a folder for its predictions.",
)
@click.option(
    "--setting",
    type=click.Choice(["ours", "paper"]),
    expose_value=False,
    callback=_keep("model.setting"),
    help="Short for --set model.setting=...",
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    expose_value=False,
    callback=_keep("model.training.epochs"),
    help="Short for --set model.training.epochs=...",
)
@click.option(
    "--set",
    "texts",
    metavar="KEY=VALUE",
    multiple=True,
    help="A key of a recipe's `source.config`, for all methods; may be repeated.",
)
def evaluate_rankings(
    *,
    folders: tuple[Path, ...],
    ablate: bool,
    names: tuple[str, ...],
    seeds: int,
    out: Path | None,
    texts: tuple[str, ...],
) -> None:
    """Measure rankings on benchmarks, with 95 % intervals over their queries.

    FOLDER has tables/*.csv, queries.csv (table, column) and ground_truth.csv (query_table,
    query_column, candidate_table, candidate_column). The pipeline is that of `datahub ingest`.
    """
    # torch and Spark take seconds to import, which the other commands need not wait for.
    from datahub_hyperjoin import evaluate as evaluation  # noqa: PLC0415

    kept = click.get_current_context().meta
    extent = evaluation.Extent(seeds, kept[_SIZES])
    several = len(folders) > 1 or len(extent.sizes) > 1
    try:
        if out:
            evaluation.require_pictures()
        results = []
        for result in evaluation.evaluate(
            folders,
            evaluation.choose(names) if ablate or names else [evaluation.FULL],
            settings={**evaluation.parse_settings(texts), **kept.get(_SHORT, {})},
            extent=extent,
            progress=evaluation.Narration(lambda line: click.echo(line, err=True)),
            rivals=evaluation.choose_rivals(kept[_RIVALS]) if _RIVALS in kept else (),
        ):
            results.append(result)
            click.echo(f"\n{evaluation.as_text(result)}\n")
            if out:
                evaluation.write_results(out, results, apart=several)
    except HyperJoinError as error:
        raise click.ClickException(str(error)) from error
