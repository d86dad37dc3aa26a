"""Train the pair network that the package ships: `python -m benchmarks.pair_network SCHOOL`.

SCHOOL is the folder of lakes that `python -m benchmarks.school` made. `--without-messages` trains
the same network without messages, for comparison.
"""

import argparse
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from safetensors.torch import save_file

from benchmarks.measured_lakes import Guise
from benchmarks.pair_network.examples import LabelledPairs, read_pairs
from benchmarks.pair_network.training import mean_average_precision, train
from benchmarks.trees.__main__ import lakes_of
from datahub_hyperjoin.evaluate.run import EvaluationProgress
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES
from datahub_hyperjoin.model.ranking.tree_scoring import SHIPPED_NETWORK

logger = logging.getLogger(__name__)

_GUISES = (Guise.WHOLE, Guise.NAMELESS)


def _with_answers(folders: Sequence[Path], cache: Path) -> Iterator[LabelledPairs]:
    for lake in read_pairs(folders, cache, _GUISES, EvaluationProgress(logger.info)):
        if lake.joins.any():
            yield lake


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, train, and compare with the noisy-or on the validation lakes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pair_network", description=__doc__)
    parser.add_argument("school", type=Path, help="folder with the lakes of `benchmarks.school`")
    parser.add_argument("--out", type=Path, default=SHIPPED_NETWORK, help="file to write")
    parser.add_argument("--cache", type=Path, help="folder of measured pairs (SCHOOL/pairs)")
    parser.add_argument("--epochs", type=int, default=10, help="number of epochs (10)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (0)")
    parser.add_argument("--without-messages", action="store_true", help="train a perceptron")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    cache = chosen.cache or chosen.school / "pairs"
    lakes, validation = (
        list(_with_answers(lakes_of(chosen.school / split), cache))
        for split in ("train", "validation")
    )
    network = train(
        lakes,
        validation,
        messages=not chosen.without_messages,
        epochs=chosen.epochs,
        seed=chosen.seed,
    )
    # The network knows a feature by its position alone.
    metadata = {"lakes": str(len(lakes)), "features": "\n".join(PAIR_FEATURES)}
    save_file(network.state_dict(), chosen.out, metadata=metadata)
    for share in (0.0, 0.35, 0.5, 1.0):
        precision = mean_average_precision(validation, network, share)
        logger.info("MAP with %.2f of the corrections: %.4f", share, precision)


if __name__ == "__main__":
    main()
