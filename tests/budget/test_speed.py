"""Test that the speed of the machine is measured."""

import pytest

from datahub_hyperjoin.budget import check as speed


def test_the_least_disturbed_turn_tells_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = 2 * speed.REFERENCE_SECONDS
    clock = iter([at for turn in (9.0, usual, 2 * usual, 3.0, 7.0) for at in (0.0, turn)])
    monkeypatch.setattr(speed, "process_time", lambda: next(clock))
    assert speed.relative_slowness() == pytest.approx(2)
    assert next(clock, None) is None


def test_more_work_takes_longer() -> None:
    def work() -> None:
        for _ in range(4):
            speed.typical_work()

    assert speed.relative_slowness(work) > 2 * speed.relative_slowness() > 0
