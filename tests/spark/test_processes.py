"""Test that reading tables without Spark gives the same results as with Spark."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread
from unittest.mock import Mock

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pydantic import SecretStr
from pyspark.sql import SparkSession

from datahub_hyperjoin.joins import Bridge
from datahub_hyperjoin.locations import Database, File, Relation
from datahub_hyperjoin.spark import processes
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.errors import LostWorkerError, ProcessStartError
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.routes import need_spark, session_for
from datahub_hyperjoin.spark.verification.bridges import verify_bridges
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, Table
from datahub_hyperjoin.value_forms import Notation

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
CONFIG = ProfileConfig()


def test_profiles_and_evidence_are_those_of_spark(
    spark: SparkSession, make_table: MakeTable
) -> None:
    random = np.random.default_rng(0)
    codes, names = [f"C{at:03}" for at in range(90)], [f"Name {at // 2}" for at in range(90)]
    left = make_table(
        "left.parquet", pa.table({"code": random.choice(codes, 300), "n": range(300)})
    )
    via = make_table("via.parquet", pa.table({"code": codes[10:], "name": names[10:]}))
    right = make_table(
        "right.csv", "name,padded\n" + "".join(f"{n.upper()},00{n[5:]}\n" for n in names)
    )
    lost = make_table("lost.csv", b"\0\1")
    tables = [left, via, right, lost]
    code, via_code = ColumnId(left.id, "code"), ColumnId(via.id, "code")
    via_name, name = ColumnId(via.id, "name"), ColumnId(right.id, "name")
    padded, number = ColumnId(right.id, "padded"), ColumnId(left.id, "n")
    pairs = [(code, via_code), (via_name, name), (number, padded), (ColumnId(lost.id, "x"), code)]
    kinds = ColumnKinds(notations={padded: Notation.PADDED})
    bridges = [Bridge(code, via_code, via_name, name), Bridge(name, via_name, via_code, code)]
    unread: dict[SparkSession | None, list[str]] = {spark: [], None: []}

    def read(session: SparkSession | None) -> tuple[object, ...]:
        def note(table: object) -> None:
            unread[session].append(str(table))

        return (
            profile_lake(session, tables, CONFIG),
            verify_joins(session, tables, pairs, kinds=kinds, note_unread=note),
            verify_bridges(session, tables, bridges, note_unread=note),
        )

    profiles, evidence, crossed = here = read(None)
    assert here == read(spark)
    assert isinstance(profiles, list)
    assert [profile.rows for profile in profiles] == [300, 80, 90, 0]
    assert isinstance(evidence, dict)
    assert evidence[number, padded].compared_as
    assert isinstance(crossed, dict)
    assert [each.rows > 300 for each in crossed.values()] == [True, True]
    assert unread[None] == unread[spark] == ["lost"]


def test_a_process_starts_only_for_enough_bytes_beside_the_largest_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[int] = []

    @contextmanager
    def pool(count: int) -> Iterator[Mock]:
        started.append(count)
        yield Mock(**{"submit.return_value.result.return_value": []})

    monkeypatch.setattr(processes, "_start", Mock())
    monkeypatch.setattr(processes, "_pool", pool)
    monkeypatch.setattr(processes, "cpu_count", lambda: 4)
    for mebibytes in ([], [99], [99, 15], [99, 16], [15] * 2, [16] * 3, [9] * 99):
        sizes = [size << 20 for size in mebibytes]
        processes.run_in_processes([[0]] * 9, Mock(), pa.schema([]), sizes=sizes)
    assert started == [1, 1, 1, 2, 1, 3, 4]


def test_a_table_that_ends_its_process_costs_no_other(
    make_table: MakeTable, deadly: Callable[[Table], Table]
) -> None:
    tables = [make_table(f"t{at}.csv", f"a\n{at}\n") for at in range(3)]
    tables[1] = deadly(tables[1])
    found = profile_lake(None, tables, CONFIG)
    assert [profile.rows for profile in found] == [1, 0, 1]
    assert found[1].fault == str(LostWorkerError.by_reading())


def test_large_and_remote_tables_need_spark(make_table: MakeTable) -> None:
    table = make_table("a.parquet", pa.table({"a": [1]}))
    far = replace(table, location=File(uri="s3a://lake/a.parquet", format="parquet"))
    large = replace(table, size=1 << 27)
    assert not need_spark([table, large], CONFIG)
    assert need_spark([table, far], CONFIG)
    assert not need_spark([large] * 4, CONFIG)
    assert need_spark([*[large] * 4, table], CONFIG)
    assert need_spark([table], ProfileConfig(split_bytes=1))


def test_spark_starts_for_large_and_remote_tables_only(make_table: MakeTable) -> None:
    spark = Mock(spec=SparkSession)
    file = make_table("a.parquet", pa.table({"a": [1]}))
    part = replace(file, size=1 << 27)
    far = replace(file, location=File(uri="s3a://lake/a.parquet", format="parquet"))
    database = Database(url=SecretStr("sqlite://"))
    location = Relation(database=database, connection="connections[0]", schema="main", name="a")
    relation = replace(file, location=location)
    started = {
        name: session_for(tables, lambda: spark, CONFIG) is spark
        for name, tables in {
            "none": [],
            "512 MiB": [part] * 4,
            "more": [*[part] * 4, file],
            "remote": [far],
            "small tables of a database": [replace(relation, size=1 << 20)],
            "a view of unknown size": [replace(relation, size=0)],
            "large tables of a database": [replace(relation, size=1 << 29)],
        }.items()
    }
    assert started == {
        "none": False,
        "512 MiB": False,
        "more": True,
        "remote": True,
        "small tables of a database": False,
        "a view of unknown size": True,
        "large tables of a database": True,
    }


_INTERRUPTED = """
import os, signal, time
from datahub_hyperjoin.spark.processes import start_first_process
start_first_process()
time.sleep({})  # until it imports
os.killpg(0, signal.SIGINT)
"""


@pytest.mark.parametrize("seconds", [0.06, 0.2])
def test_ctrl_c_ends_processes_that_start_without_a_word(seconds: float) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED.format(seconds)],
        env=dict(os.environ),
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    errors = program.communicate(timeout=60)[1]
    assert program.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1  # the program's own


_KILLED = """
import os, psutil, signal
from datahub_hyperjoin.spark.processes import _wait_for_one
_wait_for_one(1)
print(*(child.pid for child in psutil.Process().children()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_end_soon_after_a_program_that_is_killed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLED], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    left = [int(each) for each in done.stdout.split()]
    assert left
    deadline = time.monotonic() + 30
    while any(map(psutil.pid_exists, left)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(psutil.pid_exists, left))


def test_an_interrupt_of_the_program_alone_ends_its_processes() -> None:
    program = psutil.Process()

    def interrupt() -> None:
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)

    def read(_: object) -> Iterator[pa.RecordBatch]:
        time.sleep(60)
        yield from ()

    Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        processes.run_in_processes([[0]], read, pa.schema([]), sizes=[1])
    assert not [each for each in program.children() if "LokyProcess" in " ".join(each.cmdline())]


@pytest.mark.parametrize("error", [OSError("EAGAIN"), RuntimeError("can't start new thread")])
def test_a_system_that_starts_no_process_is_told(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_pool", Mock(side_effect=error))
    told = rf"no process that reads tables can start: {error}. Raise the limits on memory \(`ulimit"
    with pytest.raises(ProcessStartError, match=told):
        processes.run_in_processes([[0]], Mock(), pa.schema([]), sizes=[1])
    with pytest.raises(ProcessStartError, match=told):
        processes.start_first_process()


def test_processes_that_die_at_their_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_end_with_program", os._exit)
    with pytest.raises(ProcessStartError, match="no process that reads tables can start: A worker"):
        processes.run_in_processes([[0]], Mock(), pa.schema([]), sizes=[1])


def test_a_process_imports_only_what_files_need() -> None:
    code = """import sys
import datahub_hyperjoin.spark.profiles.local_batch

print({"datahub", "duckdb", "fastavro", "pyspark", "scipy", "sqlalchemy"} & {*sys.modules})"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_end_of_all_processes_leaks_no_semaphore() -> None:
    """The thread that fills loky's queue is slow here, as on a busy machine."""
    code = """import sys, threading, time
import loky.backend.queues, loky.backend.synchronize
from datahub_hyperjoin.spark.processes import end_processes, start_first_process

synchronize = sys.modules["loky.backend.synchronize"]
feed, unlink = loky.backend.queues.Queue._feed, synchronize.sem_unlink

def fill_slowly(*queue):
    feed(*queue)
    time.sleep(0.05)

def unlink_slowly(name):
    unlink(name)
    if threading.current_thread().name == "QueueFeederThread":
        time.sleep(0.2)

loky.backend.queues.Queue._feed = staticmethod(fill_slowly)
synchronize.sem_unlink = unlink_slowly
start_first_process()
time.sleep(0.5)  # until the task is in the queue
end_processes()
time.sleep(0.1)  # until the thread unlinks a semaphore, if it still runs"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stderr
