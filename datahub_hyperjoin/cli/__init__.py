"""The command-line tool `hyperjoin`."""

from datahub_hyperjoin.ending import interrupt_ends_program

# The imports take a moment.
with interrupt_ends_program():
    from datahub_hyperjoin.cli.commands import main

__all__ = ["main"]
