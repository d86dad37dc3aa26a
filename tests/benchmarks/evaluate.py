"""Measure rankings of the pipeline, its variants and rival methods on labelled lakes.

Run it from a checkout: `make bench-rankings LAKES=... ARGS="--ablate --rivals"`, or
`PYTHONPATH=tests python -m benchmarks.evaluate FOLDER... --ablate --rivals`.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cuts import check_sizes, cut
from benchmarks.pictures import require_pictures, write_pictures
from benchmarks.rivals import choose_rivals
from benchmarks.variants import FULL, choose
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.evaluate import (
    EvaluationProgress,
    LakeResult,
    RankingMethod,
    RecipeSettings,
    as_text,
    evaluate,
    measure,
    parse_settings,
    profile_lakes,
    read_labelled_lakes,
    write_results,
)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.evaluate", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="a labelled lake")
    which = parser.add_argument_group("methods")
    which.add_argument("--ablate", action="store_true", help="also leave out each part in turn")
    which.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="also measure this variant: one of --ablate, as in 'with HIN', or one choice of the "
        "paper's, as in papers-loss",
    )
    which.add_argument("--rivals", action="store_true", help="also measure all rivals")
    which.add_argument(
        "--rival",
        metavar="NAME",
        action="append",
        default=[],
        help="also measure this rival, as in JOSIE or lsh-ensemble",
    )
    extent = parser.add_argument_group("extent")
    extent.add_argument("--seeds", type=_positive, default=1, help="runs of each method")
    extent.add_argument(
        "--tables",
        metavar="N",
        type=int,
        action="append",
        default=[],
        help="cut lakes to N tables, drawn anew for each seed",
    )
    parser.add_argument("--out", type=Path, help="folder for tables, predictions and pictures")
    recipe = parser.add_argument_group("recipe keys, for all methods")
    recipe.add_argument("--setting", choices=["ours", "paper"], help="model.setting")
    recipe.add_argument("--epochs", type=_positive, help="model.training.epochs")
    recipe.add_argument("--set", dest="texts", metavar="KEY=VALUE", action="append", default=[])
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def choose_methods(
    options: argparse.Namespace, settings: RecipeSettings
) -> tuple[RankingMethod, ...]:
    """Choose the variants and rivals that the command line names.

    The full pipeline comes first.

    Args:
        options: The parsed command line.
        settings: Recipe keys that all variants share.

    Raises:
        EvaluationError: A name or a setting is unknown, or a library is missing.
    """
    variants = choose(options.only) if options.ablate or options.only else [FULL]
    pipelines = [variant.pipeline(settings) for variant in variants]
    if options.rivals:
        return (*pipelines, *choose_rivals([]))
    return (*pipelines, *(choose_rivals(options.rival) if options.rival else ()))


def evaluate_parts(
    options: argparse.Namespace,
    methods: Sequence[RankingMethod],
    settings: RecipeSettings,
    progress: EvaluationProgress,
) -> Iterator[LakeResult]:
    """Measure methods on random subsets of each lake's tables, drawn for each size and seed.

    Args:
        options: The parsed command line.
        methods: The methods; all others are compared with the first.
        settings: Recipe keys that decide how tables are profiled.
        progress: Receives the progress.

    Yields:
        The result of each lake and size.

    Raises:
        EvaluationError: A folder, a setting or a size cannot be used.
    """
    labelled = read_labelled_lakes(options.folders)
    sizes = sorted(set(options.tables))
    check_sizes(labelled, sizes)
    lakes = profile_lakes(labelled, settings, progress)
    progress.expect(len(lakes) * len(sizes) * len(methods) * options.seeds)
    for lake in lakes:
        for size in sizes:
            parts = [cut(lake, size, seed=seed) for seed in range(options.seeds)]
            yield measure(parts, methods, progress=progress)


def run(options: argparse.Namespace) -> None:
    """Run the evaluation, and print and write the results after each lake.

    Args:
        options: The parsed command line.

    Raises:
        EvaluationError: An argument cannot be used.
    """
    short = {"model.setting": options.setting, "model.training.epochs": options.epochs}
    settings = parse_settings(options.texts)
    settings |= {key: value for key, value in short.items() if value is not None}
    methods = choose_methods(options, settings)
    progress = EvaluationProgress(lambda line: print(line, file=sys.stderr))
    if options.tables:
        lakes = evaluate_parts(options, methods, settings, progress)
    else:
        lakes = evaluate(
            options.folders, methods, settings=settings, seeds=options.seeds, progress=progress
        )
    apart = len(options.folders) > 1 or len(set(options.tables)) > 1
    results = []
    for result in lakes:
        results.append(result)
        print(f"\n{as_text(result)}\n")
        if options.out:
            write_results(options.out, results, apart=apart)
            write_pictures(options.out, results)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command, and print any expected error as one sentence."""
    options = parse_arguments(arguments)
    try:
        if options.out:
            # Both would otherwise fail after hours of measuring.
            require_pictures()
            options.out.mkdir(parents=True, exist_ok=True)
        run(options)
    except (HyperJoinError, OSError) as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
