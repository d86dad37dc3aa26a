"""Set up what all tests share: one Spark session, and word vectors that are trained once."""

import atexit
import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from functools import wraps
from hashlib import sha256
from pathlib import Path

import jaxtyping
import pytest
from datahub.ingestion.run import pipeline
from datahub.upgrade import upgrade
from hypothesis import settings
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.session import borrow_session
from services import clusters

# What a machine that others use takes for an example says nothing of the code. `make test-long`
# tries more examples.
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.register_profile("quick", deadline=None, max_examples=25)
settings.load_profile("quick")

# Java's second compiler and its threads take more of a short test than they ever give back.
JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
JAVA_ARCHIVE = Path(sys.prefix, "spark.jsa")
if JAVA_ARCHIVE.exists():  # `make test` writes it
    JAVA_OPTIONS += [f"-XX:SharedArchiveFile={JAVA_ARCHIVE}", "-Xlog:cds=off,cds+dynamic=off"]
os.environ.setdefault("JDK_JAVA_OPTIONS", " ".join(JAVA_OPTIONS))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Turn off garbage collection while pytest collects tests, and then leave these out of it.

    The collector takes a fifth of that time otherwise, although the heap only grows. Later, it
    would look at all imported modules and all tests each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # DuckDB counts its objects when Python ends, and would report those as leaked.
        atexit.register(gc.unfreeze)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
        systems = {value for value in chosen if isinstance(value, str)}
        # A local Spark stands for Databricks.
        if "spark" in getattr(item, "fixturenames", ()) or "databricks" in systems:
            item.add_marker("spark")
        # What stands for these translates each statement, so all their tests take minutes.
        if systems & {"snowflake", "trino"}:
            item.add_marker("slow")
        if "double" in item.path.parts:
            item.add_marker("no_cover")  # they run nothing of the project, and tracing takes time
    # Of several processes, none should begin a long test when the others are done.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check the shapes of arrays where they are the subject, and in some whole runs.

    The check takes an eighth of each run.
    """
    where = {*item.nodeid.partition("::")[0].split("/")}
    jaxtyping.config.update("jaxtyping_disable", not where & {"model", "test_find.py"})


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    start = clusters.KINDS[os.environ.get("HYPERJOIN_SPARK", "local")]
    with (
        start(tmp_path_factory.mktemp("spark")) as config,
        borrow_session(config) as session,
    ):
        yield session


@pytest.fixture
def spark_for_all(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """Make runs use Spark even for tables that are small enough to be read without Spark."""
    routes = "datahub_hyperjoin.spark.routes"
    monkeypatch.setattr(f"{routes}.need_spark", lambda tables, _: bool(tables))
    return spark


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make runs of the source find joins without Spark, which is much faster.

    `hyperjoin find` does the same, and is tested to find what a run with Spark finds.
    """
    # The run-time check of shapes has to be in place before a part of the model is imported.
    from datahub_hyperjoin.find import find  # noqa: PLC0415

    monkeypatch.setattr(
        "datahub_hyperjoin.source.find",
        lambda catalog, config, progress, _: find(catalog, config, progress, lambda: None),
    )


@pytest.fixture(scope="session", autouse=True)
def _no_upgrade_check() -> Iterator[None]:
    """Keep DataHub's command and pipelines from looking for newer versions.

    They give up after a second or two, and leave open sockets that fail a later test.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upgrade, "check_upgrade_post", lambda **_: None)
        patch.setattr(pipeline, "retrieve_version_stats", lambda **_: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _train_word_vectors_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Train fastText once for each training text, and give later tests a copy of the vectors.

    Each training takes a process, and half a second. `test_features` tests that two are equal.
    """
    # The run-time check of shapes has to be in place before a part of the model is imported.
    from datahub_hyperjoin.model.network import features  # noqa: PLC0415

    train = features._skipgram  # noqa: SLF001
    kept = tmp_path_factory.mktemp("word-vectors")

    @wraps(train)
    def train_or_copy(corpus: Path, path: Path, dimension: int) -> None:
        same = kept / f"{sha256(corpus.read_bytes()).hexdigest()}-{dimension}"
        if same.exists():
            shutil.copyfile(same, path)
        else:
            train(corpus, path, dimension)
            shutil.copyfile(path, same)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(features, "_skipgram", train_or_copy)
        yield
    shutil.rmtree(kept)
