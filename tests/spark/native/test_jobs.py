"""Tests of Spark jobs whose rows the driver reads."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.native.jobs import collect_arrow


@pytest.mark.spark
def test_an_interrupted_job_ends_in_the_interrupt(spark: SparkSession, tmp_path: Path) -> None:
    started = tmp_path / "started"

    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started.touch()
        time.sleep(30)
        yield from batches

    def interrupt() -> None:
        while not started.exists():
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    rows = spark.range(1, numPartitions=1).mapInArrow(slow, "id long")
    Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        collect_arrow(rows)
