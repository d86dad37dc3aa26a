"""The files that the pictures are."""

from collections.abc import Sequence
from pathlib import Path

from datahub_hyperjoin.evaluate.pictures.rankings import write_rankings
from datahub_hyperjoin.evaluate.pictures.reliability import write_reliability
from datahub_hyperjoin.evaluate.run import LakeResult


def write_pictures(folder: Path, results: Sequence[LakeResult]) -> None:
    """Writes `rankings.svg`, and `reliability.svg` unless the first method's scores say nothing.

    Args:
        folder: Where; it exists.
        results: What was measured.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    write_rankings(folder / "rankings.svg", results)
    write_reliability(folder / "reliability.svg", results)
