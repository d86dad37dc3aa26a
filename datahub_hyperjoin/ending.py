"""Let SIGTERM and SIGHUP end a program as Ctrl-C does, and Ctrl-C end one that only starts.

By default, the first two end a program at once, and its temporary files stay.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # Windows lacks the second
_PATIENCE = 10.0
"""Seconds in which a program undoes what it has begun. After that, the signal ends it."""


@contextmanager
def tidy_end() -> Iterator[None]:
    """In a `with` block, let SIGTERM and SIGHUP raise `KeyboardInterrupt`, and end the program.

    The signal ends the program when the block has been left, so that whoever started the program
    sees the same end as without the block. A signal that the program handles or ignores is left to
    it. Blocks may be nested: the outermost counts.
    """
    is_main = threading.current_thread() is threading.main_thread()
    ours = [each for each in _SIGNALS if is_main and signal.getsignal(each) is signal.SIG_DFL]
    received: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        if received:
            return  # some programs send the signal twice, and what runs now must not be cut short
        received.append(number)
        last = threading.Timer(_PATIENCE, os.kill, (os.getpid(), signal.SIGKILL))
        last.daemon = True
        last.start()
        logger.warning("%s ends this program", signal.Signals(number).name)
        raise KeyboardInterrupt

    for each in ours:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in ours:
            if signal.getsignal(each) is end:
                signal.signal(each, signal.SIG_DFL)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def on_interrupt(handler: signal.Handlers) -> Iterator[None]:
    """In a `with` block, let Ctrl-C end the program without a word (`SIG_DFL`), or do nothing."""
    # Only the main thread receives it.
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, handler) if is_main else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
