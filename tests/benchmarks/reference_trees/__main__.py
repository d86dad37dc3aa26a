"""Train the trees of references: `python -m benchmarks.reference_trees SCHOOL [LAKE...]`.

SCHOOL is the folder of lakes that `python -m benchmarks.school` made; each LAKE is a labelled lake
on which the results are judged, besides the lakes for validation. With `--headers`, the trees are
those of lakes without rows, and the lakes of the school are of the kind `headers`.
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
from datahub_hyperjoin.model.roles.header_references import SHIPPED_HEADER_TREES
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
_HEADERS, _DRAWN = 120, 0.3
"""Number of trees for lakes without rows, and share of the columns that refer to no key which are
drawn for them. The drawn columns weigh more, to make up for the omitted ones."""
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


def lakes_of(split: Path, *, headers: bool = False) -> list[Path]:
    """List the lakes of a split that have references and rows.

    Args:
        split: The folder of the split.
        headers: List those of headers instead.
    """
    folders = sorted(split.glob("*-headers-*" if headers else "*-relational-*"))
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


def train_on_headers(lakes: Sequence[Examples], seed: int = 0) -> TreeEnsemble:
    """Train trees on lakes without rows.

    Args:
        lakes: The lakes to learn from.
        seed: Seed of the features that each tree may use, and of the columns that are drawn.
    """
    # Twice the trees were surer than right.
    random = np.random.default_rng(seed)
    return _fit([_draw(lake, random) for lake in lakes], seed, _HEADERS)


def _draw(lake: Examples, random: np.random.Generator) -> Examples:
    """Draw some of the columns that refer to no key."""
    refers = np.zeros(lake.columns, dtype=bool)
    refers[lake.column[lake.labels != WRONG]] = True
    kept = (refers | (random.random(lake.columns) < _DRAWN))[lake.column]
    return replace(
        lake,
        rows=lake.rows[kept],
        scores=lake.scores[kept],
        column=lake.column[kept],
        key=lake.key[kept],
        labels=lake.labels[kept],
        within=lake.within[kept],
        weight=np.where(refers, 1.0, 1 / _DRAWN),
    )


def _fit(lakes: Sequence[Examples], seed: int, trees: int = _TREES) -> TreeEnsemble:
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
    return export(lightgbm.train(parameters, data, trees))


def _weigh(lake: Examples) -> Scores:
    weight = np.where(lake.within & (lake.labels == WRONG), _WITHIN, 1.0)
    return weight if lake.weight is None else weight * lake.weight[lake.column]


def _without_likely(lake: Examples, trees: TreeEnsemble) -> Examples:
    """Put the likely ones of the undeclared references within one database in doubt."""
    p = probabilities(lake, lake.scores + np.maximum(trees(lake.rows), 0.0))
    is_likely = lake.within & (lake.labels == WRONG) & (p > _LIKELY)
    return replace(lake, labels=np.where(is_likely, DOUBT, lake.labels))


def report(lakes: Sequence[Examples], trees: TreeEnsemble, *, headers: bool = False) -> str:
    """Tabulate how well the references of each lake are found without and with the trees.

    Args:
        lakes: The lakes.
        trees: The trees.
        headers: Whether the trees are those of lakes without rows.
    """

    def corrected(lake: Examples) -> Scores:
        return trees(lake.rows) if headers else correct(trees, lake.features, lake.rows)

    rows = [
        (f"{lake.name} {how}", *judge(lake, corrections))
        for lake in lakes
        for how, corrections in (
            ("before", np.zeros(len(lake.scores))),
            ("after", corrected(lake)),
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
    parser.add_argument("--headers", action="store_true", help="train on lakes without rows")
    parser.add_argument("--out", type=Path, help="file to write (that of the package)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (0)")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    headers: bool = chosen.headers
    lakes = read(lakes_of(chosen.school / "train", headers=headers))
    trees = (train_on_headers if headers else train)(lakes, chosen.seed)
    out = chosen.out or (SHIPPED_HEADER_TREES if headers else SHIPPED_TREES)
    save(trees, out, [lake.name for lake in lakes], lakes[0].features)
    validation = lakes_of(chosen.school / "validation", headers=headers)
    judging = read([*chosen.lakes, *validation])
    logger.info("%s", report(judging, trees, headers=headers))


if __name__ == "__main__":
    main()
