"""Let Ctrl-C end the program at once, while nothing needs to be undone."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupt_ends_program() -> Iterator[None]:
    """In a `with` block, let Ctrl-C end the program without a traceback.

    Yields:
        Nothing.
    """
    is_program = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL) if is_program else None
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
