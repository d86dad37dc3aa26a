"""The command-line tool `hyperjoin`."""

from datahub_hyperjoin.cli.commands import main

__all__ = ["main"]
