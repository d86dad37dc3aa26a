"""Train the trees of references: `python -m benchmarks.reference_trees SCHOOL [LAKE...]`.

SCHOOL is the folder of lakes that `python -m benchmarks.school` made; each LAKE is a labelled lake
on which the results are judged, besides the lakes for validation.
"""

import argparse
import logging
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import lightgbm
import numpy as np
from jaxtyping import Float
from tabulate import tabulate

from benchmarks.reference_trees.examples import DOUBT, RIGHT, WRONG, Examples, collect
from benchmarks.reference_trees.judge import Judgement, judge, probabilities
from benchmarks.trees.fit import DEPTH, export, save
from datahub_hyperjoin.model.roles.pair_scores import normalise
from datahub_hyperjoin.model.roles.reference_trees import SHIPPED_TREES, correct
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble

logger = logging.getLogger(__name__)

Scores = Float[np.ndarray, " pair"]

_TREES = 200
"""Number of trees."""
_SHRINKAGE = 0.5
"""Factor by which the corrections are multiplied, for the reason that `benchmarks.trees` gives."""
_LIKELY = 0.5
"""Probability from which an undeclared reference within a database is in doubt for the second,
final training: databases do not declare all of their keys."""
_WITHIN = 0.4
"""Weight of an undeclared pair within one database, since it may be right all the same."""
_TINY = 1e-6
"""What keeps curvature and sums above 0."""
_PARAMETERS = {
    "learning_rate": 0.05,
    "max_depth": DEPTH,
    "num_leaves": 24,
    "min_data_in_leaf": 80,
    "lambda_l2": 5.0,
    "feature_fraction": 0.6,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}


def read(folders: Sequence[Path]) -> list[Examples]:
    """Collect the examples of all lakes with references and rows, two at a time.

    Args:
        folders: Labelled lakes; those of other kinds are left out.
    """
    with ProcessPoolExecutor(2) as pool:
        return [lake for lake in pool.map(collect, folders) if lake]


def lakes_of(split: Path) -> list[Path]:
    """List the lakes of a split that have references and rows.

    Args:
        split: The folder of the split.
    """
    folders = sorted(split.glob("*-relational-*"))
    return [folder for folder in folders if "header-only" not in folder.name]


def train(lakes: Sequence[Examples], seed: int = 0) -> TreeEnsemble:
    """Train trees twice: the first ones tell which undeclared references may be right.

    Args:
        lakes: The lakes to learn from.
        seed: Seed of the features that each tree may use.
    """
    first = _fit(lakes, seed)
    trees = _fit([_without_likely(lake, first) for lake in lakes], seed)
    return replace(trees, value=np.float32(_SHRINKAGE) * trees.value)


def _fit(lakes: Sequence[Examples], seed: int) -> TreeEnsemble:
    taught = [(lake, (lake.labels != DOUBT) & lake.judged[lake.column]) for lake in lakes]
    starts = np.cumsum([0, *(lake.columns for lake in lakes)])
    column = np.concatenate(
        [start + lake.column[known] for start, (lake, known) in zip(starts, taught, strict=False)]
    )
    right = np.concatenate([lake.labels[known] == RIGHT for lake, known in taught])
    weight = np.concatenate([_weigh(lake)[known] for lake, known in taught])

    def objective(scores: Scores, _: lightgbm.Dataset) -> tuple[Scores, Scores]:
        """Return the gradient and curvature of the loss: columns refer to one key or to none."""
        p = normalise(column, scores)
        # Of several right keys of a column, any will do.
        share = np.where(right, p, 0.0)
        meant = share / np.maximum(np.bincount(column, share)[column], _TINY)
        return weight * (p - meant), weight * np.maximum(p * (1 - p), _TINY)

    data = lightgbm.Dataset(
        np.concatenate([lake.rows[known] for lake, known in taught]),
        right,
        init_score=np.concatenate([lake.scores[known] for lake, known in taught]),
    )
    parameters = {**_PARAMETERS, "objective": objective, "seed": seed}
    return export(lightgbm.train(parameters, data, _TREES))


def _weigh(lake: Examples) -> Scores:
    return np.where(lake.within & (lake.labels == WRONG), _WITHIN, 1.0)


def _without_likely(lake: Examples, trees: TreeEnsemble) -> Examples:
    """Put the likely ones of the undeclared references within one database in doubt."""
    p = probabilities(lake, lake.scores + np.maximum(trees(lake.rows), 0.0))
    is_likely = lake.within & (lake.labels == WRONG) & (p > _LIKELY)
    return replace(lake, labels=np.where(is_likely, DOUBT, lake.labels))


def report(lakes: Sequence[Examples], trees: TreeEnsemble) -> str:
    """Tabulate how well the references of each lake are found without and with the trees.

    Args:
        lakes: The lakes.
        trees: The trees.
    """
    rows = [
        (f"{lake.name} {how}", *judge(lake, corrections))
        for lake in lakes
        for how, corrections in (
            ("before", np.zeros(len(lake.scores))),
            ("after", correct(trees, lake.features, lake.rows)),
        )
    ]
    return tabulate(rows, headers=("lake", *Judgement._fields), floatfmt=".3f")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the trees, write them, and judge them."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reference_trees", description=__doc__
    )
    parser.add_argument("school", type=Path, help="folder with the lakes of `benchmarks.school`")
    parser.add_argument("lakes", metavar="LAKE", nargs="*", type=Path, help="a lake that judges")
    parser.add_argument("--out", type=Path, default=SHIPPED_TREES, help="file to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (0)")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    lakes = read(lakes_of(chosen.school / "train"))
    trees = train(lakes, chosen.seed)
    save(trees, chosen.out, [lake.name for lake in lakes], lakes[0].features)
    judging = read([*chosen.lakes, *lakes_of(chosen.school / "validation")])
    logger.info("%s", report(judging, trees))


if __name__ == "__main__":
    main()
