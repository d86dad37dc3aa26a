"""Run Spark jobs, and return the resulting rows to the driver."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

_Item = TypeVar("_Item")

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""The errors that Spark raises; the second is for Java errors that PySpark does not translate."""


def map_tasks(
    session: SparkSession,
    tasks: Sequence[Sequence[_Item]],
    work: Callable[[list[_Item]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> DataFrame:
    """Describe a Spark job with the given tasks. It runs when its rows are wanted."""
    # Each task unpickles the function below with all that it refers to. The items of other tasks
    # stay bytes, since to unpickle those of 20,000 tables takes half a second.
    pickled = [pickle.dumps([*items]) for items in tasks]

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task in chain.from_iterable(batch.column("id").to_pylist() for batch in batches):
            yield from work(pickle.loads(pickled[task]))  # noqa: S301 - ours

    numbers = session.range(0, len(tasks), numPartitions=len(tasks))
    return numbers.mapInArrow(worker, from_arrow_schema(schema))


def collect_arrow(frame: DataFrame) -> pa.Table:
    """Run the Spark job that computes a data frame, and return the rows."""
    # After Ctrl-C, PySpark cancels the job and raises its failure, as if the data were at fault.
    try:
        return frame.toArrow()
    except SPARK_ERRORS as error:
        if hides_interrupt(error):
            raise KeyboardInterrupt from error
        raise


def hides_interrupt(error: BaseException | None) -> bool:
    """Return whether an error was raised while a `KeyboardInterrupt` was being handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
