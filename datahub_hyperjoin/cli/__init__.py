"""The command `hyperjoin`: joins of the catalog, people's decisions, and paths between tables."""

from datahub_hyperjoin.cli.commands import main

__all__ = ["main"]
