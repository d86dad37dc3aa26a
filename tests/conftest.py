"""What all tests share: one Spark session."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.session import borrow_session


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
    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    settings = {"spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": warehouse}
    with borrow_session(SessionConfig(master="local[2]", settings=settings)) as session:
        yield session
