"""Compare scorers of candidate pairs: `python -m benchmarks.compare_scorers SCHOOL LAKE...`.

SCHOOL is the folder of lakes that `python -m benchmarks.school` made; all scorers learn only from
these. The noisy-or, trees without and with features of a pair's context, a logistic model over the
network's inputs, the network without messages and the network rank the same candidates of each
LAKE, whole and without names, values or both. The rankings are those of the scores, without the
coherent tree.

Models are trained once per seed, and kept in the folder of `--out`. Those for lakes without values
learn from lakes without values.
"""

import argparse
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.compare_scorers.models import Kind, Model, School, are_learnt, obtain
from benchmarks.compare_scorers.results import Measured, as_text, measure
from benchmarks.measured_lakes import Guise
from benchmarks.pair_network.examples import LabelledPairs, read_pairs
from benchmarks.pair_network.training import score
from benchmarks.trees.__main__ import lakes_of
from datahub_hyperjoin.evaluate.run import EvaluationProgress
from datahub_hyperjoin.model.ranking.tree_scoring import (
    SHIPPED,
    NetworkCorrection,
    correct_pairs,
    shipped_network,
)
from datahub_hyperjoin.model.signals.pairs import SparsePairs
from datahub_hyperjoin.model.tree_ensemble import shipped_trees

logger = logging.getLogger(__name__)

_TITLES = {
    Guise.WHOLE: "whole",
    Guise.NAMELESS: "names hidden",
    Guise.VALUELESS: "values hidden",
    Guise.BARE: "names and values hidden",
}
_TAUGHT = {True: (Guise.WHOLE, Guise.NAMELESS), False: (Guise.VALUELESS,)}
"""Each `Guise` in which training lakes are read, for models that read values and for models that do
not."""


class Comparison:
    """A comparison of scorers, which trains each model when it is first needed.

    Args:
        options: The command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._cache: Path = options.cache or options.school / "pairs"
        self._progress = EvaluationProgress(logger.info)
        self._schools = {values: School(partial(self._read, values)) for values in (True, False)}

    def _read(self, values: bool, split: str) -> Sequence[LabelledPairs]:  # noqa: FBT001
        folders = lakes_of(self._options.school / split)
        pairs = read_pairs(folders, self._cache, _TAUGHT[values], self._progress)
        return [lake for lake in pairs if lake.joins.any()]

    def model(self, kind: Kind, seed: int, *, values: bool) -> Model:
        """Return a model for lakes with or without values."""
        read = "values" if values else "no-values"
        file = self._options.out / f"{kind.slug}-{read}-{seed}.safetensors"
        return obtain(kind, seed, self._schools[values], file, self._options.epochs)

    def lakes(self, folder: Path) -> Iterator[tuple[Guise, LabelledPairs]]:
        """Yield a lake's candidate pairs in each guise, such as without names or without values."""
        for guise in Guise:
            yield from (
                (guise, lake)
                for lake in read_pairs([folder], self._cache, (guise,), self._progress)
            )

    def compare(self, lake: LabelledPairs, *, values: bool) -> dict[str, Measured]:
        """Measure all scorers on a lake.

        Args:
            lake: Its pairs.
            values: Whether values were read.
        """
        ranked = lake.ranked

        def one(model: Model) -> np.ndarray:
            return measure(ranked, model.score(lake))

        rows = {"noisy-or": [measure(ranked, score(lake, np.zeros(len(lake.joins))))]}
        if values:
            rows["as shipped"] = [measure(ranked, _score_as_shipped(lake))]
        for kind in Kind:
            seeds = range(self._options.seeds)
            rows[kind.value] = [one(self.model(kind, seed, values=values)) for seed in seeds]
        return {name: Measured(np.stack(runs)) for name, runs in rows.items()}


def _score_as_shipped(lake: LabelledPairs) -> np.ndarray:
    """Score pairs as the package does: blend the corrections made by its trees and its network."""
    graph, kept = lake.graph, are_learnt(lake)
    pairs = SparsePairs(len(graph.table_of), graph.left[kept], graph.right[kept])
    *_, corrections = correct_pairs([graph], shipped_network())
    by_network = NetworkCorrection(pairs, corrections[kept])
    by_trees = shipped_trees(SHIPPED)(graph.rows)
    return score(lake, by_network.blend(by_trees, graph.left, graph.right))


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, train missing models, and print a table for each variant of a lake."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_scorers")
    parser.add_argument("school", type=Path, help="folder with the lakes of `benchmarks.school`")
    parser.add_argument("lakes", metavar="LAKE", nargs="*", type=Path, help="labelled lakes")
    parser.add_argument("--out", type=Path, required=True, help="folder of the trained models")
    parser.add_argument("--cache", type=Path, help="folder of measured pairs (SCHOOL/pairs)")
    parser.add_argument("--seeds", type=int, default=3, help="models of each kind (3)")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of the networks (10)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    options.out.mkdir(parents=True, exist_ok=True)
    comparison = Comparison(options)
    for folder in options.lakes:
        for guise, lake in comparison.lakes(folder):
            rows = comparison.compare(lake, values=guise.values)
            print(as_text(f"{folder.resolve().name}, {_TITLES[guise]}", rows), flush=True)


if __name__ == "__main__":
    main()
