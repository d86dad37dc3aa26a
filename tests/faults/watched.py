"""Carry out an attack in a separate process, so that a crash or a hang ends only that process."""

import multiprocessing
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from datahub_hyperjoin.spark.memory import limited_memory
from faults.outcome import Outcome

Try = Callable[[random.Random], str]
"""Damages an input and reads it; returns what broke a promise, or an empty text."""

Bench = Callable[[], AbstractContextManager[Try]]
"""Prepares undamaged inputs and yields a try. It must be picklable, as another process calls it."""

_SECONDS = 5.0
"""Maximum number of seconds in which one input must be read."""
_START, _HANG = 120.0, 30.0
_HANGS = "hangs"


def attack(name: str, bench: Bench, tries: int, seed: int, *, contained: bool = False) -> Outcome:
    """Carry out tries one after the other, in a process that is replaced if it crashes or hangs.

    With `contained`, a crash of the process breaks no promise: libraries that are not written in
    Python crash on some damage, but only Spark's workers read tables, and one that ends costs a run
    one table (`tests/spark/profiles/test_lost_tables.py`).
    """
    failures, slowest, number, crashes = list[str](), 0.0, 0, 0
    context = multiprocessing.get_context("spawn")
    while number < tries:
        results, sent = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(bench, name, seed, number, tries, sent))
        worker.start()
        sent.close()
        if _receive(results, _START) is None:
            worker.kill()
            return Outcome(tries, (*failures, f"{name}: its inputs cannot be prepared"))
        while number < tries:
            result = _receive(results, _HANG)
            seconds, problem = result or (0.0, _end(worker))
            crashed = result is None and problem != _HANGS
            crashes += crashed
            slowest = max(slowest, seconds)
            if not problem and seconds > _SECONDS:
                problem = f"takes {seconds:.1f} s"
            if problem and not (crashed and contained):
                failures.append(f"{name}, seed {seed}, number {number}: {problem}")
            number += 1
            if result is None:
                break
        worker.join()
        results.close()
    worst = f"{slowest:.2f} s, crashes: {crashes}" if crashes else f"{slowest:.2f} s"
    return Outcome(tries, tuple(failures), worst)


def _end(worker: BaseProcess) -> str:
    """End a process that sends no more results, and describe how it failed."""
    worker.join(1)
    code = worker.exitcode
    worker.kill()
    return _HANGS if code is None else f"ends the process with {code}"


def _receive(results: Connection, seconds: float) -> tuple[float, str] | None:
    """Return the next result, or None if no result arrives in time."""
    try:
        return results.recv() if results.poll(seconds) else None
    except (EOFError, OSError):
        return None


def _work(bench: Bench, name: str, seed: int, first: int, tries: int, results: Connection) -> None:
    with bench() as attempt, limited_memory():
        results.send((0.0, ""))
        for number in range(first, tries):
            began = time.perf_counter()
            try:
                draw = random.Random(f"{name} {seed} {number}")  # noqa: S311 - it must repeat
                problem = attempt(draw)
            except BaseException as error:  # noqa: BLE001 - any error here breaks the promise
                problem = f"raises {type(error).__name__}: {str(error)[:300]}"
            results.send((time.perf_counter() - began, problem))
