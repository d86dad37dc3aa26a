"""Run tasks in local processes, which start faster than Spark.

Spark takes seconds to start. For a few small tables, that is longer than reading them.
"""

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any, TypeVar

import pyarrow as pa
from loky import cpu_count, get_reusable_executor

from datahub_hyperjoin.spark.errors import ProcessStartError
from datahub_hyperjoin.spark.memory import gc_paused

_Item = TypeVar("_Item")

_IDLE_SECONDS = 30
"""Time after which an idle process ends. Until then, a later stage or another run can use it."""
_PROCESS_BYTES = 1 << 24
"""Number of bytes that a process reads in about the time that another process takes to start."""
_WATCH_SECONDS = 0.5
"""Time between two looks at whether the program that needs a process still runs."""
_NO_START = (OSError, RuntimeError, MemoryError)
"""Errors that are raised if the system lets no process or thread start."""


def run_in_processes(
    tasks: Sequence[Sequence[_Item]],
    work: Callable[[Sequence[_Item]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    *,
    sizes: Sequence[int],
) -> pa.Table:
    """Run tasks in one process per core, or in fewer processes if the tables are small.

    A task that crashes its process does not stop this program. Ctrl-C ends the processes, even if
    it reaches this program alone.
    """

    def run(items: Sequence[_Item]) -> list[pa.RecordBatch]:
        return [*work(items)]

    # One process reads the largest table, whatever the others do.
    others = sum(sizes) - max(sizes, default=0)
    processes = min(cpu_count(), len(tasks), 1 + others // _PROCESS_BYTES)
    try:
        _start(processes)
        with _pool(processes) as pool:
            found = [pool.submit(run, items) for items in tasks]
        results = [batch for each in found for batch in each.result()]
    except (KeyboardInterrupt, SystemExit):
        end_processes()
        raise
    return pa.Table.from_batches(results, schema)


def start_first_process() -> None:
    """Start a background process that imports the code for reading tables.

    Meanwhile, this process can import other libraries.
    """
    with _starting(), _pool(1) as pool:
        pool.submit(_import_readers)


def _import_readers() -> None:
    with gc_paused():
        import_module("datahub_hyperjoin.spark.profiles.local_batch")


def end_processes() -> None:
    """End all processes at once, because this program needs none any more.

    Otherwise it would wait at its end until they have unloaded their libraries, for half a second.
    """
    executor = get_reusable_executor(reuse=True)  # pyright: ignore[reportArgumentType] (a default)
    executor.shutdown(kill_workers=True)
    # Ended with the program, the thread that fills the queue could stop half-way through freeing a
    # semaphore, which loky would then report as leaked.
    for thread in enumerate_threads():
        if thread.name == "QueueFeederThread":
            thread.join(timeout=1)


def _start(processes: int) -> None:
    """Wait until a process can take tasks.

    None of a table has been read yet, so what ends a process now is no fault of a table.
    """
    with _starting():
        try:
            _wait_for_one(processes)
        except BrokenProcessPool:  # perhaps by a table of another run of this program
            _wait_for_one(processes)


def _wait_for_one(processes: int) -> None:
    with _pool(processes) as pool:
        one = pool.submit(os.getpid)
    one.result()


@contextmanager
def _starting() -> Iterator[None]:
    try:
        yield
    except _NO_START as error:
        raise ProcessStartError.because(str(error) or type(error).__name__) from error


@contextmanager
def _pool(processes: int) -> Iterator[Any]:
    """Yield a pool of processes. They start when tasks are submitted in the `with` block.

    Ctrl-C reaches these processes, too. One that is still importing would print a traceback, so
    the signal waits until the process can end without a word.
    """
    resource_tracker.ensure_running()  # Its start, which the pool causes, would undo the next line.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit this
    try:
        with warnings.catch_warnings():
            # Further processes start once the first has imported the code; loky warns of the wait.
            warnings.filterwarnings("ignore", "Trying to resize an executor", UserWarning)
            executor = get_reusable_executor(
                max_workers=processes,
                timeout=_IDLE_SECONDS,
                initializer=_end_with_program,
                initargs=(os.getpid(),),
                # They multiply no matrices, for which NumPy would start a thread for each core.
                env={"OPENBLAS_NUM_THREADS": "1"},
            )
        yield executor
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_program(program: int) -> None:
    """Let a process end without a word on Ctrl-C, and soon after its program however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_watch, args=(program,), daemon=True).start()


def _watch(program: int) -> None:
    while os.getppid() == program:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)  # the main thread may be busy with a table
