"""Test that the sentence encoder finds columns of similar meaning without network access."""

import socket
from pathlib import Path

import pytest

from benchmarks.rivals import encoder
from benchmarks.rivals.choose import choose_rivals
from benchmarks.rivals.encoder import describe
from lakes.rivalry import ask, cells, suite

TABLES = {
    "a": {"country": ["France", "Germany", "Italy"]},
    "b": {"nation": ["Spain", "Portugal", "Greece"]},
    "c": {"enzyme": ["amylase", "lipase", "pepsin"]},
    "d": {"amount": ["12.5", "7.25", "0.125"]},
}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    encoder._encode_once.cache_clear()  # noqa: SLF001 (what an earlier test encoded would need no model)


@pytest.mark.usefixtures("offline")
def test_columns_of_one_meaning_are_near_without_a_shared_value(tmp_path: Path) -> None:
    [rival] = choose_rivals(["zero-shot sentence encoder"])
    found = ask(rival, suite(tmp_path, TABLES, "a.country"))["a.country"]
    assert found[0][0] == "b.nation"
    assert len(found) == 3
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert all(-1 <= score < 1 for score in scores)


def test_texts_begin_with_the_most_frequent_values() -> None:
    [column] = cells(town=["Rome", "Oslo", "Bern", "Bern", "Nice", "Oslo", "Bern"])
    assert describe(column) == "town. town contains 4 values (4,4,4.00): Bern, Oslo, Rome, Nice"


def test_texts_are_no_longer_than_the_encoder_reads() -> None:
    [column] = cells(row=[str(row) for row in range(1000)])
    assert describe(column).startswith("row. row contains 1000 values (3,1,2.89): 0, 1, 2,")
    assert describe(column).endswith(", 254, 255")
