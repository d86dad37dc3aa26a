"""The command-line tool `hyperjoin`."""

import signal
import threading

# The imports take a second. Ctrl-C ends the program meanwhile, without a traceback.
_is_program = threading.current_thread() is threading.main_thread()
if _is_program:
    _handler = signal.signal(signal.SIGINT, signal.SIG_DFL)

from datahub_hyperjoin.cli.commands import main  # noqa: E402

if _is_program:
    signal.signal(signal.SIGINT, _handler)

__all__ = ["main"]
