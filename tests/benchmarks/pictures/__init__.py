"""Draw the results of an evaluation: metrics with intervals, and the calibration of scores."""

from benchmarks.pictures.canvas import require_pictures
from benchmarks.pictures.write import write_pictures

__all__ = ["require_pictures", "write_pictures"]
