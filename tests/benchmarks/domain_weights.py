"""Fit how probable one domain is: `python -m benchmarks.domain_weights SCHOOL [LAKE...]`.

SCHOOL is the folder of lakes that `python -m benchmarks.school` made, of all kinds. The pairs are
those that a run would write in the role `same domain` if it wrote them all. Each LAKE is a labelled
lake on which the weights are judged, besides the lakes for validation.
"""

import argparse
import logging
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from sklearn.linear_model import LogisticRegression
from tabulate import tabulate

from benchmarks.reference_trees.examples import DOUBT, RIGHT, WRONG, Truth
from benchmarks.reference_trees.judge import calibration_error
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.run import compare_sources
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.joins import Join, Role
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.domains import (
    DOMAIN_FEATURES,
    FITTED_WEIGHTS,
    DomainOdds,
    DomainWeights,
)
from datahub_hyperjoin.stages.pair_evidence import confirm_pairs
from datahub_hyperjoin.stages.role_decisions import decide_joins, decide_relations
from datahub_hyperjoin.tables import ColumnId

logger = logging.getLogger(__name__)

_ALL = DomainWeights(features=(0.0,) * len(DOMAIN_FEATURES), constant=50.0)
"""Weights by which every pair surely shares a domain."""
_SPEAKING, _ENOUGH = 0.5, 5
"""Least containment and number of texts from which an undeclared pair of a database is in doubt:
databases declare no domains."""
_REGULARISATION = 100.0
"""Inverse strength of the prior, which hardly matters with so many pairs."""


@dataclass(frozen=True)
class Pairs:
    """The pairs of a lake that may share a domain."""

    name: str
    described: Float[np.ndarray, "pair feature"]
    scores: Float[np.ndarray, " pair"]
    right: Bool[np.ndarray, " pair"]


def collect(folder: Path) -> Pairs | None:
    """Find and describe the pairs of a labelled lake as a run does; None if there are none."""
    try:
        comparison, _ = compare_sources([folder / "tables"], RunProgress(), ModelConfig())
    except HyperJoinError:  # No table of the lake has rows.
        return None
    index, ranking = comparison.index, ModelConfig().ranking
    least = ranking.min_containment
    evidence = confirm_pairs(comparison.measured, min_containment=least, accepted=frozenset())
    joins = decide_joins(index, comparison.ranked, evidence, CatalogFacts(), ranking, _ALL)
    truth = Truth(folder)
    labelled = [
        (join, label)
        for join in joins
        if join.role is Role.SAME_DOMAIN
        and (label := _label(truth, join, index.lake.texts)) != DOUBT
    ]
    if not labelled:
        return None
    number = index.lake.index_of
    left = np.array([number[join.left] for join, _ in labelled])
    right = np.array([number[join.right] for join, _ in labelled])
    scores = np.array([join.joinability for join, _ in labelled])
    shared = [join.measured.shared for join, _ in labelled]
    odds = DomainOdds(index.lake, decide_relations(index, evidence))
    is_right = np.array([label == RIGHT for _, label in labelled])
    return Pairs(folder.name, odds.describe(left, right, scores, shared), scores, is_right)


def _label(truth: Truth, join: Join, texts: AbstractSet[ColumnId]) -> int:
    ends = join.left, join.right
    label = truth.label_domain(*((end.table.name.removesuffix(".csv"), end.path) for end in ends))
    speaks = join.measured.shared >= _ENOUGH and join.measured.containment >= _SPEAKING
    is_undeclared = label == WRONG and truth.is_incomplete
    return DOUBT if is_undeclared and speaks and texts >= {*ends} else label


def read(folders: Iterable[Path]) -> list[Pairs]:
    """Collect the pairs of all lakes, two at a time."""
    with ProcessPoolExecutor(2) as pool:
        return [lake for lake in pool.map(collect, folders) if lake]


def fit(lakes: Sequence[Pairs]) -> DomainWeights:
    """Fit the weights; a lake counts by the square root of the number of its pairs."""
    weight = np.concatenate([np.full(len(lake.right), len(lake.right) ** -0.5) for lake in lakes])
    model = LogisticRegression(C=_REGULARISATION, max_iter=5000)
    model.fit(
        np.concatenate([lake.described for lake in lakes]),
        np.concatenate([lake.right for lake in lakes]),
        sample_weight=weight / weight.mean(),
    )
    return DomainWeights(tuple(model.coef_[0].tolist()), float(model.intercept_.item()))


def report(lakes: Sequence[Pairs], weights: DomainWeights) -> str:
    """Tabulate how many pairs of each lake are written, and how many of these are right."""
    rows = []
    for lake in lakes:
        after = np.minimum(lake.scores, weights.weigh(lake.described))
        for how, p in (("before", lake.scores), ("after", after)):
            written = p >= ModelConfig().ranking.min_joinability
            off = calibration_error(p, lake.right)
            rows.append((f"{lake.name} {how}", written.sum(), lake.right[written].sum(), off))
    return tabulate(rows, headers=("lake", "written", "right", "calibration error"), floatfmt=".3f")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the weights, print them, and judge those that are shipped."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.domain_weights", description=__doc__
    )
    parser.add_argument("school", type=Path, help="folder with the lakes of `benchmarks.school`")
    parser.add_argument("lakes", metavar="LAKE", nargs="*", type=Path, help="a lake that judges")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    fitted = fit(read(sorted((chosen.school / "train").iterdir())))
    for name, weight in zip(DOMAIN_FEATURES, fitted.features, strict=True):
        logger.info("%s: %.2f", name, weight)
    logger.info("constant: %.2f", fitted.constant)
    judging = [*chosen.lakes, *sorted((chosen.school / "validation").iterdir())]
    logger.info("%s", report(read(judging), FITTED_WEIGHTS))


if __name__ == "__main__":
    main()
