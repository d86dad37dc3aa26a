"""What was measured, drawn: rankings with their intervals, and what scores are worth."""

from datahub_hyperjoin.evaluate.pictures.canvas import require_pictures
from datahub_hyperjoin.evaluate.pictures.write import write_pictures

__all__ = ["require_pictures", "write_pictures"]
