"""Make labelled lakes for training: `python -m benchmarks.school OUT_DIR`."""

import argparse
import logging
from pathlib import Path

from benchmarks.school.make import make_school
from benchmarks.school.plan import LakeKind
from benchmarks.school.read import CACHE


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, and make the lakes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.school", description=__doc__)
    parser.add_argument("out", type=Path, help="folder of the lakes")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of cloned sources")
    parser.add_argument("--mirror", type=Path, help="folder that holds sources: owner+name")
    parser.add_argument("--train", type=int, default=150, help="lakes to train on (150)")
    parser.add_argument("--validation", type=int, default=30, help="lakes to choose on (30)")
    parser.add_argument("--kind", type=LakeKind, help="the kind of all lakes, such as relational")
    parser.add_argument("--seed", type=int, default=7, help="seed of all draws (7)")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    lakes = {"train": chosen.train, "validation": chosen.validation}
    make_school(
        chosen.out,
        lakes,
        seed=chosen.seed,
        cache=chosen.cache,
        mirror=chosen.mirror,
        kind=chosen.kind,
    )


if __name__ == "__main__":
    main()
