"""Figures of matplotlib, which is imported when something is drawn and not before."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from datahub_hyperjoin.evaluate.errors import MissingPlotterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, BLUE, RED, GREY = "#222222", "#0072B2", "#D55E00", "#8A8A8A"
"""Colours that differ in lightness, too, and for eyes that see no red or green (Okabe and Ito)."""
_SETTINGS = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.wspace": 0.05,
    "font.size": 9,
    "svg.hashsalt": "hyperjoin",
}


def require_pictures() -> None:
    """Finds out whether pictures can be drawn.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    _plotter("matplotlib.figure")


def write(file: Path, width: float, height: float, draw: Callable[["Figure"], None]) -> None:
    """Draws a picture, the same for the same figures.

    Args:
        file: An SVG file, or one of any other kind that matplotlib can write.
        width: In inches.
        height: In inches.
        draw: Draws into an empty figure.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    with _plotter("matplotlib").rc_context(_SETTINGS):
        # Not pyplot's, so that no display is looked for, and no state is left behind.
        figure: Figure = _plotter("matplotlib.figure").Figure((width, height), layout="constrained")
        draw(figure)
        metadata = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, metadata=metadata, dpi=150)


def _plotter(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPlotterError.to_draw() from error
