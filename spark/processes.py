"""Run tasks in local processes, which start faster than Spark.

Spark takes seconds to start. For a few small tables, that is longer than reading them.
"""

from collections.abc import Callable, Iterator
from importlib import import_module

import pyarrow as pa
from loky import cpu_count, get_reusable_executor

Worker = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for Spark's `mapInArrow`: it receives batches with the numbers of tasks as `id`."""

_IDLE_SECONDS = 10
"""Time after which an idle process ends. Until then, another run can use it."""
_PROCESS_BYTES = 1 << 24
"""Bytes that take one process about as long to read as another takes to start."""


def run_in_processes(worker: Worker, tasks: int, schema: pa.Schema, *, size: int) -> pa.Table:
    """Run tasks in one process per core, or in fewer if the tables are small (`size`).

    A task that crashes its process does not stop this program.

    Args:
        worker: Runs the tasks whose numbers it receives.
        tasks: Number of tasks.
        schema: The columns of the results.
        size: Bytes of all tables.

    Returns:
        The rows of all tasks.

    Raises:
        BrokenProcessPool: A task crashed its process, so that some results are missing.
    """

    def run(task: int) -> list[pa.RecordBatch]:
        return [*worker(iter([pa.RecordBatch.from_pydict({"id": [task]})]))]

    processes = min(cpu_count(), tasks, 1 + size // _PROCESS_BYTES)
    pool = get_reusable_executor(max_workers=processes, timeout=_IDLE_SECONDS)
    results = [batch for batches in pool.map(run, range(tasks)) for batch in batches]
    return pa.Table.from_batches(results, schema)


def start_first_process() -> None:
    """Start a background process that imports the code for reading tables.

    Meanwhile, this process can import other libraries.
    """
    pool = get_reusable_executor(max_workers=1, timeout=_IDLE_SECONDS)
    pool.submit(import_module, "datahub_hyperjoin.spark.profiles.local_batch")
