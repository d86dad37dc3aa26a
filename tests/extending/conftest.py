"""Fixtures of plug-ins."""

from collections.abc import Iterator

import pytest

from datahub_hyperjoin.spark.processes import end_processes


@pytest.fixture(autouse=True)
def new_processes() -> Iterator[None]:
    """End the processes that read tables, which know the plug-ins of the time of their start."""
    end_processes()
    yield
    end_processes()
