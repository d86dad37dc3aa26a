"""Test that an interrupt while Spark fetches remote files is raised as `KeyboardInterrupt`."""

from typing import cast
from unittest.mock import Mock

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.native import remote


def test_an_interrupt_while_files_are_fetched_ends_in_the_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt() -> None:
        """Fail like PySpark, which turns an interrupt into the failure of the cancelled job."""
        try:
            raise KeyboardInterrupt
        finally:
            message = "[SPARK_JOB_CANCELLED]"
            raise PySparkException(message)

    monkeypatch.setattr(remote, "read_binary_files", lambda *_: Mock(toArrow=interrupt))
    with pytest.raises(KeyboardInterrupt):
        remote.fetch_files(cast("SparkSession", None), ["s3a://lake/orders/_delta_log/0.json"])
