"""The command-line tool `hyperjoin`."""

import signal

from datahub_hyperjoin.ending import on_interrupt

# The imports take a moment, and leave nothing to undo.
with on_interrupt(signal.SIG_DFL):
    from datahub_hyperjoin.cli.commands import main

__all__ = ["main"]
