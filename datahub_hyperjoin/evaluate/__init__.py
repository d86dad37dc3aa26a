"""How good the rankings are, measured on lakes whose joins are known."""

from datahub_hyperjoin.evaluate.ablations import FULL, choose
from datahub_hyperjoin.evaluate.pictures import require_pictures
from datahub_hyperjoin.evaluate.progress import Narration
from datahub_hyperjoin.evaluate.report import as_text, write_results
from datahub_hyperjoin.evaluate.rivals import choose_rivals
from datahub_hyperjoin.evaluate.run import Extent, evaluate
from datahub_hyperjoin.evaluate.settings import parse_settings

__all__ = [
    "FULL",
    "Extent",
    "Narration",
    "as_text",
    "choose",
    "choose_rivals",
    "evaluate",
    "parse_settings",
    "require_pictures",
    "write_results",
]
