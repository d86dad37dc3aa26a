"""Find the tables that crash a worker, so that all other tables can be profiled."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_Result = TypeVar("_Result")


def run_in_halves(
    job: Callable[[Sequence[int]], Mapping[int, _Result]],
    tables: Sequence[int],
    *,
    salvage: Callable[[], Mapping[int, _Result]],
) -> tuple[dict[int, _Result], list[int]]:
    """Run a Spark job on tables; after a crash, rerun it on each half of the unread tables.

    Spark ends the whole job and does not say which table was being read. One table among n is
    found in about log n further jobs, which read only what the first has not finished.

    Args:
        salvage: Returns the results of tables that a failed job had finished.

    Returns:
        Results by index, and the tables that crash a worker even if nothing else is read.
    """
    try:
        return dict(job(tables)), []
    except BrokenProcessPool:
        pass  # a process of this program ended
    except Exception as error:
        if not _is_lost_worker(error):
            raise
    finished = salvage()
    results = {table: finished[table] for table in tables if table in finished}
    left = [table for table in tables if table not in results]
    if len(left) <= 1:
        return results, left
    logger.warning("A process ended while it read %s tables; trying again", len(left))
    lost: list[int] = []
    middle = len(left) // 2
    for half in (left[:middle], left[middle:]):
        found, lost_of_half = run_in_halves(job, half, salvage=salvage)
        results |= found
        lost += lost_of_half
    return results, lost


def _is_lost_worker(error: Exception) -> bool:
    # PySpark takes a tenth of a second to import; processes of this program need none.
    from datahub_hyperjoin.spark.native.frames import is_lost_worker  # noqa: PLC0415
    from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS  # noqa: PLC0415

    return isinstance(error, SPARK_ERRORS) and is_lost_worker(error)
