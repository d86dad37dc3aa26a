"""Write the picture files of an evaluation."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.pictures.rankings import write_rankings
from benchmarks.pictures.reliability import write_reliability
from datahub_hyperjoin.evaluate.run import LakeResult


def write_pictures(folder: Path, results: Sequence[LakeResult]) -> None:
    """Write the pictures of an evaluation.

    `reliability.svg` is written only if scores of the first method lie in [0, 1].

    Args:
        folder: An existing folder.
        results: One result per lake.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    write_rankings(folder / "rankings.svg", results)
    write_reliability(folder / "reliability.svg", results)
