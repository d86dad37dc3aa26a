"""How often answers are right, by what their scores say (Niculescu-Mizil and Caruana, 2005)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from datahub_hyperjoin.evaluate.calibration import Reliability
from datahub_hyperjoin.evaluate.pictures.canvas import BLUE, GREY, INK, write
from datahub_hyperjoin.evaluate.run import LakeResult
from datahub_hyperjoin.evaluate.summary import summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_BESIDE = 2
"""How many panels stand beside each other."""
_WIDTH, _HEIGHT = 3.6, 4.4
"""Inches of a panel."""
_PERCENT = 100


def write_reliability(file: Path, results: Sequence[LakeResult]) -> None:
    """Draws a panel a benchmark, of the first method: right answers by score, and how many.

    Lines through the dots are 95 % intervals over queries. Dots below the diagonal say too much,
    those above it too little. A benchmark on which scores say nothing has no panel; without any
    panel there is no file.

    Args:
        file: The picture.
        results: What was measured.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    firsts = [(result.name, summarise(result)[0]) for result in results]
    panels = [
        (f"{lake}, {row.name}", row.reliability)
        for lake, row in firsts
        if row.reliability is not None
    ]
    if not panels:
        return
    columns = min(_BESIDE, len(panels))
    lines = -(-len(panels) // columns)

    def draw(figure: "Canvas") -> None:
        parts = np.ravel(figure.subfigures(lines, columns, squeeze=False))
        for part, (name, reliability) in zip(parts, panels, strict=False):
            above, below = part.subplots(2, 1, sharex=True, height_ratios=(3, 1))
            above.set_title(f"{name}\n{_error(reliability)}", loc="left")
            _draw_shares(above, reliability)
            _draw_counts(below, reliability)

    write(file, _WIDTH * columns, _HEIGHT * lines, draw)


def _error(reliability: Reliability) -> str:
    error = reliability.error()
    mean, low, high = (f"{_PERCENT * value:.1f}" for value in (error.mean, error.low, error.high))
    return f"ECE {mean} % ({low} to {high})"


def _draw_shares(panel: "Axes", reliability: Reliability) -> None:
    bins = reliability.bins()
    right = [_PERCENT * one.right.mean for one in bins]
    below = [_PERCENT * (one.right.mean - one.right.low) for one in bins]
    above = [_PERCENT * (one.right.high - one.right.mean) for one in bins]
    panel.plot([0, 1], [0, _PERCENT], color=GREY, linestyle="--", linewidth=1)
    scores = [one.score for one in bins]
    panel.errorbar(scores, right, yerr=[below, above], color=BLUE, marker="o", markersize=4)
    panel.set_ylim(-3, _PERCENT + 3)
    panel.set_ylabel("right answers (%)")


def _draw_counts(panel: "Axes", reliability: Reliability) -> None:
    bins = reliability.bins()
    panel.bar(
        [one.low for one in bins],
        [_PERCENT * one.share for one in bins],
        [one.high - one.low for one in bins],
        align="edge",
        color="#BFD9EA",
        edgecolor=INK,
        linewidth=0.6,
    )
    panel.set_xlim(0, 1)
    panel.set_ylabel("answers (%)")
    panel.set_xlabel("joinability")
