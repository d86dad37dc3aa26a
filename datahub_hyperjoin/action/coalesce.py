"""Run a function after changes in DataHub, once for all changes within a waiting time."""

import threading
import time
from collections.abc import Callable

from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_MAX_TRIES = 5


class CoalescedRuns:
    """A thread that collects changes for a while, then runs a function once for all of them.

    All changes within a waiting time share a run. A change during a run causes one further run,
    since that run may have read the catalog before.

    Args:
        wait: Seconds between the first change and the run.
        retry: Seconds after which a failed run is repeated, at most four times.
    """

    def __init__(self, run: Callable[[], bool], *, wait: float, retry: float) -> None:
        self._run, self._wait, self._retry = run, wait, retry
        self._due: float | None = None
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="hyperjoin-action", daemon=True)
        self._thread.start()

    def schedule(self) -> None:
        """Schedule a run after a change, unless a run is already scheduled.

        Returns immediately.
        """
        with self._changed:
            if self._due is None:
                self._due = time.monotonic() + self._wait
                self._changed.notify()

    def close(self) -> None:
        """End the thread; if changes are pending, run the function once more first.

        May be called again.
        """
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        tries = 0
        while self._next():
            if self._run():
                tries = 0
                continue
            tries += 1
            if tries < _MAX_TRIES:
                self._repeat()
            else:
                logger.error("The changes wait for the next event or `datahub ingest`")
                tries = 0

    def _next(self) -> bool:
        """Wait until a run is due; return False if the thread should end instead.

        The thread should end once `close` was called and no changes are pending.
        """
        with self._changed:
            while not self._closed and (self._due is None or time.monotonic() < self._due):
                left = None if self._due is None else self._due - time.monotonic()
                self._changed.wait(left)
            due, self._due = self._due, None
            return due is not None

    def _repeat(self) -> None:
        with self._changed:
            if not self._closed and self._due is None:
                self._due = time.monotonic() + self._retry
