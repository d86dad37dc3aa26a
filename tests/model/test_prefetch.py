import threading
from collections.abc import Iterator

import numpy as np
import pytest

from datahub_hyperjoin.model.prefetch import prefetch


def test_things_come_in_order_and_as_one_thread_draws_them() -> None:
    alone, other = np.random.default_rng(3), np.random.default_rng(3)
    expected = [alone.integers(1000, size=size).tolist() for size in range(1, 30)]
    drawn = prefetch(lambda size: other.integers(1000, size=size).tolist(), range(1, 30))
    assert list(drawn) == expected
    assert other.bit_generator.state == alone.bit_generator.state


def test_few_things_wait_in_memory() -> None:
    made: list[int] = []
    for number in prefetch(made.append, range(20)):
        assert number is None
        assert len(made) <= 20
    ahead = 0
    made.clear()
    for used, _ in enumerate(prefetch(made.append, range(20)), start=1):
        ahead = max(ahead, len(made) - used)
    assert ahead <= 2


def test_things_are_made_while_others_are_used() -> None:
    second = threading.Event()

    def make(number: int) -> int:
        if number == 1:
            second.set()
        return number

    numbers = prefetch(make, range(5))
    assert next(numbers) == 0
    assert second.wait(timeout=5)
    assert list(numbers) == [1, 2, 3, 4]


def test_what_fails_there_fails_here() -> None:
    def make(number: int) -> float:
        return 1 / (3 - number)

    numbers = prefetch(make, range(9))
    assert [next(numbers) for _ in range(3)] == [1 / 3, 1 / 2, 1.0]
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        next(numbers)


def test_the_thread_ends_when_nobody_wants_more() -> None:
    before = threading.active_count()
    made: list[int] = []
    numbers: Iterator[None] = prefetch(made.append, range(1000))
    next(numbers)
    del numbers
    assert threading.active_count() == before
    assert len(made) <= 4
