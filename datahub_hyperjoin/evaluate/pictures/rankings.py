"""Precision and recall of every method on every benchmark, with their intervals."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from datahub_hyperjoin.evaluate.pictures.canvas import BLUE, GREY, INK, RED, write
from datahub_hyperjoin.evaluate.run import LakeResult
from datahub_hyperjoin.evaluate.summary import COMPARED, Figure, ceilings, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_WIDTH, _LINE, _AROUND = 7.5, 0.23, 0.8
"""Inches: of the picture, and the height of a method and of what is above and below a panel."""
_PERCENT = 100


class _Mark(NamedTuple):
    """What stands for a mean, told apart without colours, too."""

    shape: str
    colour: str
    filling: str
    meaning: str


_FIRST = _Mark("s", INK, INK, "what others are compared with")
_OTHER = _Mark("D", RED, RED, "the difference excludes zero")
_ALIKE = _Mark("o", BLUE, "white", "the difference can be chance")


def write_rankings(file: Path, results: Sequence[LakeResult]) -> None:
    """Draws a row of panels a benchmark: the metrics, one below the other the methods.

    Dots are means over queries, lines their 95 % intervals; the dashed line is what a perfect
    ranking has, the dotted one the first method's mean.

    Args:
        file: The picture.
        results: What was measured.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    heights = [_AROUND + _LINE * len(result.methods) for result in results]

    def draw(figure: "Canvas") -> None:
        panels = figure.subplots(
            len(results), len(COMPARED), squeeze=False, height_ratios=heights, sharey="row"
        )
        for row, result in zip(panels, results, strict=True):
            _draw_lake(row, result)
        _explain(figure, several=any(len(result.methods) > 1 for result in results))

    write(file, _WIDTH, sum(heights) + _AROUND, draw)


def _draw_lake(panels: Sequence["Axes"], result: LakeResult) -> None:
    rows, most = summarise(result), ceilings(result)
    for panel, metric in zip(panels, COMPARED, strict=True):
        first = rows[0].figures[metric].value.mean
        highs = [row.figures[metric].value.high for row in rows]
        panel.axvline(_PERCENT * most[metric], color=GREY, linestyle="--", linewidth=1)
        panel.axvline(_PERCENT * first, color=INK, linestyle=":", linewidth=0.8)
        for place, row in enumerate(rows):
            _draw_figure(panel, place, row.figures[metric])
        panel.set_xlim(0, 1.05 * _PERCENT * max([most[metric], *highs]))
        panel.set_xlabel(f"{metric} (%)")
        panel.grid(axis="x", color="#E4E4E4", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(rows)), [row.name for row in rows])
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    panels[0].set_title(result.name, loc="left", fontweight="bold")


def _draw_figure(panel: "Axes", place: int, figure: Figure) -> None:
    low, mean, high = (
        _PERCENT * value for value in (figure.value.low, figure.value.mean, figure.value.high)
    )
    mark = _FIRST
    if figure.difference is not None:
        mark = _OTHER if figure.difference.excludes_zero else _ALIKE
    panel.errorbar(
        [mean],
        [place],
        xerr=[[mean - low], [high - mean]],
        color=mark.colour,
        marker=mark.shape,
        markerfacecolor=mark.filling,
        markersize=4.5,
    )


def _explain(figure: "Canvas", *, several: bool) -> None:
    panel = figure.axes[0]
    handles = panel.plot([], [], color=GREY, linestyle="--", linewidth=1, label="a perfect ranking")
    for mark in (_FIRST, _OTHER, _ALIKE) if several else ():
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
