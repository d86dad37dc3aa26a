"""Train the trees that the package contains: `python -m benchmarks.trees SCHOOL [--names]`.

SCHOOL is the folder of lakes that `python -m benchmarks.school` made. `--names` trains the trees
for lakes whose values are not read.
"""

import argparse
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.measured_lakes import Guise, guise_file, measure_missing
from benchmarks.trees.examples import Examples, average_precision, collect_examples
from benchmarks.trees.fit import fit, save, score
from benchmarks.trees.name_examples import Known, collect_name_examples
from datahub_hyperjoin.evaluate.run import EvaluationProgress, ProfiledLake
from datahub_hyperjoin.model.ranking.pair_features import (
    NAME_FEATURES,
    PAIR_FEATURES,
    RISING_FEATURES,
    RISING_NAME_FEATURES,
)
from datahub_hyperjoin.model.ranking.tree_scoring import SHIPPED, SHIPPED_FOR_NAMES

logger = logging.getLogger(__name__)

_MAX_TABLES = 220
"""Lakes with more tables are left out: they take longest, and teach no more than several small
ones."""
_SHRINKAGE = 0.4
"""Factor by which the corrections of the exported trees are multiplied. It is below 1, because a
user's lake differs more from the training lakes than these differ from each other."""
_SHRINKAGE_BY_NAMES = 0.5
"""Factor for the corrections of exported trees that read no values."""


def _examples(folders: Sequence[Path], cache: Path) -> Iterator[Examples]:
    """Yield the training examples of each lake, with column names and without."""
    files = {folder: _files(folder, cache) for folder in folders}

    def save(lake: ProfiledLake, guise: Guise, file: Path) -> None:
        collect_examples(lake, names=guise.names).save(file)

    measure_missing(files, save, EvaluationProgress(logger.info))
    for folder in folders:
        yield from map(Examples.load, files[folder].values())


def _files(folder: Path, cache: Path) -> dict[Guise, Path]:
    """Return the files of a lake's training examples: one with the lake's names, one without them.

    Lakes whose names are uninformative have only the first file.
    """
    # Codes are told apart by values, and hidden names are hidden already.
    is_told_by_names = _has_names(folder) and "codes" not in folder.name
    guises = (Guise.WHOLE, Guise.NAMELESS) if is_told_by_names else (Guise.WHOLE,)
    return {guise: guise_file(folder, cache, guise) for guise in guises}


def _has_names(folder: Path) -> bool:
    """Return whether the names in a lake are informative."""
    return not any(word in folder.name for word in ("hidden", "numbered"))


def _name_examples(folders: Sequence[Path], cache: Path) -> Iterator[Examples]:
    """For each lake with informative names, yield training examples made without its values."""
    files = {
        folder: {known: guise_file(folder, cache, known) for known in Known}
        for folder in filter(_has_names, folders)
    }

    def save(lake: ProfiledLake, known: Known, file: Path) -> None:
        collect_name_examples(lake, known).save(file)

    measure_missing(files, save, EvaluationProgress(logger.info))
    for own in files.values():
        yield from map(Examples.load, own.values())


def lakes_of(folder: Path) -> list[Path]:
    """List the lakes of a split, except those in folders, with too many tables or without rows.

    `hyperjoin evaluate` reads no folders of tables.

    Args:
        folder: The folder of the split.
    """
    return [
        lake
        for lake in sorted(folder.iterdir())
        if "header-only" not in lake.name
        and all(path.is_file() for path in (lake / "tables").iterdir())
        and len(list((lake / "tables").iterdir())) <= _MAX_TABLES
    ]


def main(arguments: list[str] | None = None) -> None:
    """Train and write the trees, and compare them with the noisy-or on validation lakes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=__doc__)
    parser.add_argument("school", type=Path, help="folder with the lakes of `benchmarks.school`")
    parser.add_argument("--names", action="store_true", help="train those that read no values")
    parser.add_argument("--out", type=Path, help="file to write (that of the package)")
    parser.add_argument("--cache", type=Path, help="folder of measured pairs (SCHOOL/examples)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (0)")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    cache = chosen.cache or chosen.school / "examples"
    cache.mkdir(parents=True, exist_ok=True)
    by_names: bool = chosen.names
    examples = _name_examples if by_names else _examples
    lakes = lakes_of(chosen.school / "train")
    trees = fit(
        list(examples(lakes, cache)),
        rising=len(RISING_NAME_FEATURES if by_names else RISING_FEATURES),
        seed=chosen.seed,
        share=_SHRINKAGE_BY_NAMES if by_names else _SHRINKAGE,
    )
    features = NAME_FEATURES if by_names else PAIR_FEATURES
    names = [f"{lake.parent.name}/{lake.name}" for lake in lakes]
    save(trees, chosen.out or (SHIPPED_FOR_NAMES if by_names else SHIPPED), names, features)
    validation = list(examples(lakes_of(chosen.school / "validation"), cache))
    before = [
        average_precision(lake, 1 - (1 - lake.noisy_or) * (1 - lake.known)) for lake in validation
    ]
    after = [average_precision(lake, score(trees, lake)) for lake in validation]
    logger.info("MAP without trees %.3f, with trees %.3f", np.mean(before), np.mean(after))


if __name__ == "__main__":
    main()
