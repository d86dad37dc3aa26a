"""Run Spark jobs, and return the resulting rows to the driver."""

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""The errors that Spark raises; the second is for Java errors that PySpark does not translate."""


def collect_arrow(frame: DataFrame) -> pa.Table:
    """Run the Spark job that computes a data frame, and return the rows.

    After Ctrl-C, PySpark cancels the job and raises its failure, as if the data were at fault.

    Args:
        frame: The rows.

    Raises:
        KeyboardInterrupt: The user interrupted the job.
        PySparkException: The job failed.
    """
    try:
        return frame.toArrow()
    except SPARK_ERRORS as error:
        if _hides_interrupt(error):
            raise KeyboardInterrupt from error
        raise


def _hides_interrupt(error: BaseException | None) -> bool:
    """Return whether an error was raised while a `KeyboardInterrupt` was being handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
