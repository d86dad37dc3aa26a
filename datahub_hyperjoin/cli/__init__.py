"""The command-line tool `hyperjoin`."""

import signal
import threading

# The imports take a second. Ctrl-C ends the program meanwhile, without a traceback.
_is_program = threading.current_thread() is threading.main_thread()
_handler = signal.signal(signal.SIGINT, signal.SIG_DFL) if _is_program else None

from datahub_hyperjoin.cli.commands import main  # noqa: E402

if _handler is not None:
    signal.signal(signal.SIGINT, _handler)

__all__ = ["main"]
