"""Test when changes in the catalog cause a run, and that many changes share a single run."""

import logging
import threading
import time

import pytest

from datahub_hyperjoin.action.plugin import CoalescedRuns

LONG = 60.0


def test_many_changes_share_a_run() -> None:
    ran = []
    runs = CoalescedRuns(lambda: not ran.append(time.monotonic()), wait=0.2, retry=LONG)  # type: ignore[func-returns-value]
    started = time.monotonic()
    for _ in range(50):
        runs.schedule()
    time.sleep(0.6)
    runs.close()
    assert len(ran) == 1
    assert 0.2 <= ran[0] - started < 0.6


def test_a_change_during_a_run_causes_one_further_run() -> None:
    begun, go_on, ran = threading.Event(), threading.Event(), []

    def run() -> bool:
        ran.append(1)
        begun.set()
        return go_on.wait(10)

    runs = CoalescedRuns(run, wait=0, retry=LONG)
    runs.schedule()
    assert begun.wait(10)
    for _ in range(5):
        runs.schedule()
    assert len(ran) == 1
    go_on.set()
    runs.close()
    assert len(ran) == 2


def test_closing_runs_at_once_for_changes_that_wait() -> None:
    ran = threading.Event()
    runs = CoalescedRuns(lambda: ran.set() is None, wait=LONG, retry=LONG)  # type: ignore[func-returns-value]
    runs.schedule()
    runs.close()
    assert ran.is_set()
    runs.close()


def test_without_changes_nothing_runs() -> None:
    ran = threading.Event()
    CoalescedRuns(lambda: ran.set() is None, wait=0, retry=0).close()  # type: ignore[func-returns-value]
    assert not ran.is_set()


def test_a_failed_run_is_repeated_at_most_four_times(caplog: pytest.LogCaptureFixture) -> None:
    ran: list[int] = []
    done = threading.Event()

    def fail() -> bool:
        ran.append(1)
        if len(ran) == 5:
            done.set()
        return False

    runs = CoalescedRuns(fail, wait=0, retry=0)
    runs.schedule()
    assert done.wait(10)
    time.sleep(0.1)
    runs.close()
    assert len(ran) == 5
    assert caplog.record_tuples == [
        (
            "datahub_hyperjoin.action.plugin",
            logging.ERROR,
            "The changes wait for the next event or `datahub ingest`",
        )
    ]
