"""Test that training Snoopy's proxy cells improves the search for columns that share cells."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from benchmarks.errors import NoPairsError
from benchmarks.rivals import snoopy_training
from benchmarks.rivals.choose import choose_rivals
from benchmarks.rivals.snoopy import untrained_proxies
from benchmarks.rivals.snoopy_training import ranking_loss, trained_proxies
from lakes.rivalry import ask, cells, suite

[SNOOPY] = choose_rivals(["Snoopy"])


def words(seed: int, count: int = 12) -> list[str]:
    """Draw random words of four letters from a small alphabet."""
    random = np.random.default_rng(seed)
    return ["".join(random.choice(list("aeioknrst"), size=4)) for _ in range(count)]


def test_the_loss_is_that_of_finding_and_of_ranking() -> None:
    anchors = torch.tensor([[1.0, 0.0]])
    others = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    negatives = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    found = ranking_loss(anchors, others, negatives, torch.tensor([[True, False]]))
    # The first competes with the second and one negative, the second with the negative only.
    assert found == pytest.approx((np.log(1 + 2 * np.exp(-1 / 0.08)) + np.log(2)) / 2)
    wrong = ranking_loss(anchors, others.flip(1), negatives, torch.tensor([[True, False]]))
    second = np.log(1 + np.exp(-1 / 0.09))
    assert wrong == pytest.approx((np.log(2 + np.exp(1 / 0.08)) + second) / 2)


def test_columns_that_share_cells_are_told_from_others_and_a_seed_repeats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What follows shows well before the end.
    monkeypatch.setattr(snoopy_training, "_BATCHES", 20)
    lake = cells(
        **{
            f"{name}{at}": [*words(at)[:8], *words(100 * at + ord(name), 4)]
            for at in range(20)
            for name in "ab"
        }
    )
    queries = np.arange(0, 40, 2)
    state = torch.get_rng_state()
    before = untrained_proxies(lake, queries, seed=0)
    after, again = (trained_proxies(lake, queries, seed=0) for _ in range(2))

    def loss(scores: np.ndarray) -> float:
        return float(cross_entropy(20 * torch.tensor(scores[:, 1::2]), torch.arange(20)))

    assert loss(after) < 0.5 * loss(before)
    assert np.array_equal(after, again)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("columns", "batches", "size"), [(1, 100, 1), (40, 100, 40), (200, 300, 64)]
)
def test_columns_come_as_often_as_others(columns: int, batches: int, size: int) -> None:
    order = snoopy_training._order(np.arange(columns), np.random.default_rng(0))  # noqa: SLF001
    assert order.shape == (batches, size)
    assert np.ptp(np.bincount(order.flat, minlength=columns)) <= 1


def test_short_columns_are_compared_and_teach_nothing(tmp_path: Path) -> None:
    tables = {
        "a": {"x": ["Frankfurt", "Hamburg", "Stuttgart", "Bremen", "Kiel"]},
        "b": {"x": ["FRANKFURT", "Hamburg (city)"]},
        "c": {"x": ["amylase", "lipase"]},
    }
    found = ask(SNOOPY, suite(tmp_path, tables, "a.x"))["a.x"]
    assert [candidate for candidate, _ in found] == ["b.x", "c.x"]
    assert all(-1 <= score <= 1 for _, score in found)


def test_a_lake_of_short_columns_teaches_nothing(tmp_path: Path) -> None:
    message = (
        "no column has 5 distinct values to split, so there is no pair to learn from. "
        "Use longer tables"
    )
    lake = suite(tmp_path, {"a": {"x": [*"1234"] * 2}, "b": {"x": ["1"]}}, "a.x")
    with pytest.raises(NoPairsError, match=re.escape(message)):
        ask(SNOOPY, lake)
