"""Run a function on one GPU of a Spark cluster.

Spark's `TorchDistributor` starts the function in a process of its own on an executor, which sees
the GPU that Spark has assigned to the task.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeGuard, TypeVar, cast

from pyspark.sql import SparkSession

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.spark.errors import ExecutorTaskError
from datahub_hyperjoin.spark.native.frames import spark_error_text
from datahub_hyperjoin.spark.native.jobs import hides_interrupt
from datahub_hyperjoin.spark.session import LazySession, OptionalSession, is_local_master
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")

_OF_TASK = "spark.task.resource.gpu.amount"
_CAUSE = re.compile(r"^[\w.]*Error: .+", re.MULTILINE)
"""The line of a traceback that names the error."""
_AMOUNTS = ("spark.executor.resource.gpu.amount", _OF_TASK)
"""The settings that give GPUs to executors and to their tasks."""


def gives_gpus(master: str, settings: Mapping[str, str]) -> bool:
    """Return whether settings give GPUs to the executors of a cluster.

    Examples:
        >>> amounts = {key: "1" for key in _AMOUNTS}
        >>> gives_gpus("spark://host:7077", amounts), gives_gpus("local[4]", amounts)
        (True, False)
    """
    return not is_local_master(master) and all(
        _amount(settings.get(key, "0")) > 0 for key in _AMOUNTS
    )


def _amount(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0  # Spark itself refuses it


def has_gpu_executors(session: OptionalSession) -> TypeGuard[LazySession]:
    """Return whether the executors of a session have GPUs. This does not start Spark."""
    return isinstance(session, LazySession) and gives_gpus(
        session.setting("spark.master", "local"),
        {key: session.setting(key, "0") for key in _AMOUNTS},
    )


def run_on_executor(
    session: SparkSession,
    work: Callable[[_Argument], _Result],
    argument: _Argument,
    *,
    on_gpu: bool = True,
) -> _Result:
    """Run a function on an executor, in a process that sees only the GPU of its task.

    The argument and the result are copied several times, in the memory of Python and of Java.
    """
    from pyspark.ml.torch.distributor import TorchDistributor  # noqa: PLC0415 (imports much)

    amount = session.conf.get(_OF_TASK, None)
    try:
        # The distributor accepts no share of a GPU, with which tasks that need none can run side by
        # side. It reads this setting; Spark schedules by the one that it started with.
        session.conf.set(_OF_TASK, "1")
        distributor = TorchDistributor(num_processes=1, local_mode=False, use_gpu=on_gpu)
        result = cast("_Result | HyperJoinError", distributor.run(_attempt, work, argument))
    except Exception as error:
        if hides_interrupt(error):
            raise KeyboardInterrupt from error
        raise ExecutorTaskError.because(_find_reason(error)) from error
    finally:
        session.conf.unset(_OF_TASK) if amount is None else session.conf.set(_OF_TASK, amount)
    if isinstance(result, HyperJoinError):
        raise result
    return result


def _attempt(work: Callable[[_Argument], _Result], argument: _Argument) -> _Result | HyperJoinError:
    """Call a function, and return its error, since Spark would pass on a long text instead."""
    try:
        return work(argument)
    except HyperJoinError as error:
        return error
    except Exception as error:
        logger.exception("The task on an executor failed")
        return ExecutorTaskError.because(f"{type(error).__name__}: {error}")


def _find_reason(error: Exception) -> str:
    """Find the error of Python or the lack of memory in a long error of Spark."""
    found = _CAUSE.search(str(error))
    return found[0] if found else spark_error_text(error)
