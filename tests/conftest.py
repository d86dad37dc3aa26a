"""What all tests share: one Spark session."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

import clusters
from datahub_hyperjoin.spark.session import borrow_session

# What a machine that others use takes for an example says nothing of the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Java's second compiler and its threads take more of a short test than they ever give back.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        if "double" in item.path.parts:
            item.add_marker("no_cover")  # they run nothing of the project, and tracing takes time
    # Of several processes, none should begin a long test when the others are done.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    start = clusters.KINDS[os.environ.get("HYPERJOIN_SPARK", "local")]
    with (
        start(tmp_path_factory.mktemp("spark")) as config,
        borrow_session(config) as session,
    ):
        yield session
