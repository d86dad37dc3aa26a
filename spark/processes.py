"""Run tasks in local processes, which start faster than Spark.

Spark takes seconds to start. For a few small tables, that is longer than reading them.
"""

import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from threading import enumerate as enumerate_threads
from typing import Any, TypeVar

import pyarrow as pa
from loky import cpu_count, get_reusable_executor

_Item = TypeVar("_Item")

_IDLE_SECONDS = 30
"""Time after which an idle process ends. Until then, a later stage or another run can use it."""
_PROCESS_BYTES = 1 << 24
"""Number of bytes that a process reads in about the time that another process takes to start."""


def run_in_processes(
    tasks: Sequence[Sequence[_Item]],
    work: Callable[[Sequence[_Item]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    *,
    sizes: Sequence[int],
) -> pa.Table:
    """Run tasks in one process per core, or in fewer processes if the tables are small.

    A task that crashes its process does not stop this program.

    Args:
        tasks: The items of each task, such as the tables that it reads.
        work: Returns the rows for the items of a task.
        schema: The columns of the rows.
        sizes: Bytes of each table.

    Returns:
        The rows of all tasks.

    Raises:
        BrokenProcessPool: A task crashed its process, so that some results are missing.
    """

    def run(items: Sequence[_Item]) -> list[pa.RecordBatch]:
        return [*work(items)]

    # One process reads the largest table, whatever the others do.
    others = sum(sizes) - max(sizes, default=0)
    processes = min(cpu_count(), len(tasks), 1 + others // _PROCESS_BYTES)
    with _pool(processes) as pool:
        found = pool.map(run, tasks)
    results = [batch for batches in found for batch in batches]
    return pa.Table.from_batches(results, schema)


def start_first_process() -> None:
    """Start a background process that imports the code for reading tables.

    Meanwhile, this process can import other libraries.
    """
    with _pool(1) as pool:
        pool.submit(import_module, "datahub_hyperjoin.spark.profiles.local_batch")


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
                max_workers=processes, timeout=_IDLE_SECONDS, initializer=_end_silently_on_interrupt
            )
        yield executor
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_silently_on_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
