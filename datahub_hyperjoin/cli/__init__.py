"""The command `hyperjoin`: list, accept and reject joins, find paths, and evaluate rankings."""

from datahub_hyperjoin.cli.commands import main

__all__ = ["main"]
