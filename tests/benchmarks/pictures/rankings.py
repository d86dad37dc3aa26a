"""Draw precision and recall of all methods on all lakes, with confidence intervals."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.pictures.canvas import BLUE, GREY, INK, RED, write
from datahub_hyperjoin.evaluate.report import COMPARED, MetricSummary, ceilings, summarise
from datahub_hyperjoin.evaluate.run import LakeResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _LINE, _AROUND = 7.5, 0.23, 0.8
"""Width of the picture, height of one method's row, and height of a panel's title and axis, in
inches."""
_PERCENT = 100


class _Mark(NamedTuple):
    """Marker of a mean value.

    Markers differ in shape as well as in colour, for prints without colours.
    """

    shape: str
    colour: str
    filling: str
    meaning: str


_FIRST = _Mark("s", INK, INK, "the first method")
_DIFFERENT = _Mark("D", RED, RED, "significantly different from the first")
_SIMILAR = _Mark("o", BLUE, "white", "not significantly different from the first")


def write_rankings(file: Path, results: Sequence[LakeResult]) -> None:
    """Draw one row of panels for each lake and one panel for each metric.

    Markers are means over query columns with their 95 % intervals. The dashed line is the value of
    a perfect ranking, the dotted line the first method's mean.

    Args:
        file: The picture.
        results: One result per lake.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    heights = [_AROUND + _LINE * len(result.methods) for result in results]

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(
            len(results), len(COMPARED), squeeze=False, height_ratios=heights, sharey="row"
        )
        for row, result in zip(panels, results, strict=True):
            _draw_lake(row, result)
        _explain(figure, several=any(len(result.methods) > 1 for result in results))

    write(file, _WIDTH, sum(heights) + _AROUND, draw)


def _draw_lake(panels: Sequence["Axes"], result: LakeResult) -> None:
    summaries, bounds = summarise(result), ceilings(result)
    for panel, metric in zip(panels, COMPARED, strict=True):
        first = summaries[0].metrics[metric].value.mean
        highs = [summary.metrics[metric].value.high for summary in summaries]
        panel.axvline(_PERCENT * bounds[metric], color=GREY, linestyle="--", linewidth=1)
        panel.axvline(_PERCENT * first, color=INK, linestyle=":", linewidth=0.8)
        for line, summary in enumerate(summaries):
            _draw_metric(panel, line, summary.metrics[metric])
        panel.set_xlim(0, 1.05 * _PERCENT * max([bounds[metric], *highs]))
        panel.set_xlabel(f"{metric} (%)")
        panel.grid(axis="x", color="#E4E4E4", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(summaries)), [summary.name for summary in summaries])
    panels[0].set_ylim(len(summaries) - 0.5, -0.5)
    panels[0].set_title(result.name, loc="left", fontweight="bold")


def _draw_metric(panel: "Axes", line: int, metric: MetricSummary) -> None:
    low, mean, high = (
        _PERCENT * value for value in (metric.value.low, metric.value.mean, metric.value.high)
    )
    mark = _FIRST
    if metric.difference is not None:
        mark = _DIFFERENT if metric.difference.excludes_zero else _SIMILAR
    panel.errorbar(
        [mean],
        [line],
        xerr=[[mean - low], [high - mean]],
        color=mark.colour,
        marker=mark.shape,
        markerfacecolor=mark.filling,
        markersize=4.5,
    )


def _explain(figure: "Figure", *, several: bool) -> None:
    panel = figure.axes[0]
    handles = panel.plot([], [], color=GREY, linestyle="--", linewidth=1, label="a perfect ranking")
    for mark in (_FIRST, _DIFFERENT, _SIMILAR) if several else ():
        handles += panel.plot(
            [],
            [],
            color=mark.colour,
            label=mark.meaning,
            linestyle="",
            marker=mark.shape,
            markerfacecolor=mark.filling,
        )
    figure.legend(
        handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize="small"
    )
