"""Methods of the literature, measured beside the product on the same queries."""

from datahub_hyperjoin.evaluate.rivals.choose import RIVALS, choose_rivals

__all__ = ["RIVALS", "choose_rivals"]
