"""The command `hyperjoin`: list, accept, reject and connect joins, and evaluate rankings."""

from datahub_hyperjoin.cli.commands import main

__all__ = ["main"]
