"""Draw how well scores are calibrated (Niculescu-Mizil and Caruana, 2005)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.pictures.canvas import BLUE, GREY, INK, write
from datahub_hyperjoin.evaluate.metrics import BINS, TAILS, Interval, Reliability
from datahub_hyperjoin.evaluate.report import summarise
from datahub_hyperjoin.evaluate.run import LakeResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 2
"""Number of panels in a row."""
_WIDTH, _HEIGHT = 3.6, 4.4
"""Size of a panel in inches."""
_PERCENT = 100


@dataclass(frozen=True, slots=True)
class Bin:
    """Summary of the candidates in one bin of similar scores."""

    low: float  # lower edge of the bin. Scores on this edge belong to the previous bin, except 0.
    high: float  # upper edge of the bin, which includes this edge
    share: float  # share of all candidates that fall into the bin
    score: float  # mean score
    right: Interval  # share of right candidates


def list_bins(reliability: Reliability) -> Iterator[Bin]:
    """Yield the bins that contain candidates, lowest scores first."""
    edges, total = np.linspace(0, 1, BINS + 1), reliability.whole[:, 0].sum()
    for index in np.flatnonzero(reliability.whole[:, 0]):
        count, right, scores = reliability.whole[index]
        drawn = reliability.draws[:, index]
        # A draw may leave the bin empty; it then has no share of right candidates.
        drawn = drawn[drawn[:, 0] > 0]
        low, high = np.percentile(drawn[:, 1] / drawn[:, 0], TAILS)
        yield Bin(
            low=float(edges[index]),
            high=float(edges[index + 1]),
            share=float(count / total),
            score=float(scores / count),
            right=Interval(float(right / count), float(low), float(high)),
        )


def write_reliability(file: Path, results: Sequence[LakeResult]) -> None:
    """For the first method on each lake, draw the share of right candidates at each score.

    Vertical lines are 95 % intervals over query columns. Dots below the diagonal mean that scores
    are too high, dots above it that they are too low. The bars below show the distribution of
    scores. A lake with scores outside [0, 1] has no panel; without any panel no file is written.

    Args:
        file: The picture.
        results: One result per lake.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    firsts = [(result.name, summarise(result)[0]) for result in results]
    panels = [
        (f"{lake}, {summary.name}", summary.reliability)
        for lake, summary in firsts
        if summary.reliability is not None
    ]
    if not panels:
        return
    columns = min(_COLUMNS, len(panels))
    lines = -(-len(panels) // columns)

    def draw(figure: "Figure") -> None:
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
    bins = [*list_bins(reliability)]
    right = [_PERCENT * score_bin.right.mean for score_bin in bins]
    below = [_PERCENT * (score_bin.right.mean - score_bin.right.low) for score_bin in bins]
    above = [_PERCENT * (score_bin.right.high - score_bin.right.mean) for score_bin in bins]
    panel.plot([0, 1], [0, _PERCENT], color=GREY, linestyle="--", linewidth=1)
    scores = [score_bin.score for score_bin in bins]
    panel.errorbar(scores, right, yerr=[below, above], color=BLUE, marker="o", markersize=4)
    panel.set_ylim(-3, _PERCENT + 3)
    panel.set_ylabel("right candidates (%)")


def _draw_counts(panel: "Axes", reliability: Reliability) -> None:
    bins = [*list_bins(reliability)]
    panel.bar(
        [score_bin.low for score_bin in bins],
        [_PERCENT * score_bin.share for score_bin in bins],
        [score_bin.high - score_bin.low for score_bin in bins],
        align="edge",
        color="#BFD9EA",
        edgecolor=INK,
        linewidth=0.6,
    )
    panel.set_xlim(0, 1)
    panel.set_ylabel("candidates (%)")
    panel.set_xlabel("joinability")
