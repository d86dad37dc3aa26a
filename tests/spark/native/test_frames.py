"""Tests of Spark jobs whose rows the driver reads."""

import os
import signal
import time
from collections.abc import Iterator
from threading import Timer

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.native.frames import collect_arrow


@pytest.mark.spark
def test_an_interrupted_job_ends_in_the_interrupt(spark: SparkSession) -> None:
    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(30)
            yield batch

    rows = spark.range(1, numPartitions=1).mapInArrow(slow, "id long")
    timer = Timer(2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        collect_arrow(rows)
