"""Draw figures with matplotlib, which is imported when it is first needed."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from benchmarks.errors import MissingPlotterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, BLUE, RED, GREY = "#222222", "#0072B2", "#D55E00", "#8A8A8A"
"""Colours that differ in lightness, and that colour-blind readers can distinguish (Okabe and Ito).
"""
_SETTINGS = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.wspace": 0.05,
    "font.size": 9,
    "svg.hashsalt": "hyperjoin",
}


def require_pictures() -> None:
    """Raise an error if matplotlib is not installed.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    _plotter("matplotlib.figure")


def write(file: Path, width: float, height: float, draw: Callable[["Figure"], None]) -> None:
    """Draw a picture, and write it to a file.

    Equal input gives an identical file.

    Args:
        file: An SVG file, or a file of any other format that matplotlib writes.
        width: Width in inches.
        height: Height in inches.
        draw: Draws into an empty figure.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    with _plotter("matplotlib").rc_context(_SETTINGS):
        # Not pyplot, which looks for a display and keeps every figure.
        figure: Figure = _plotter("matplotlib.figure").Figure((width, height), layout="constrained")
        draw(figure)
        metadata = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, metadata=metadata, dpi=150)


def _plotter(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPlotterError.to_draw() from error
