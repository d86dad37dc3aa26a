"""Find joins without a recipe or a server: in folders, databases and data frames."""

from datahub_hyperjoin.discovery.result import FoundJoins
from datahub_hyperjoin.discovery.run import find_joins

__all__ = ["FoundJoins", "find_joins"]
