"""Test that fine-tuning learns only from pairs of columns that share most of their values."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from benchmarks.errors import NoPairsError
from benchmarks.rivals.choose import choose_rivals
from benchmarks.rivals.encoder import nearest_texts
from benchmarks.rivals.finetuned import (
    fine_tuned_texts,
    pair_loss,
    positive_pairs,
)
from lakes.lake import codes
from lakes.rivalry import ask, cells, suite

TABLES = {
    "a": {"x": codes("A", 8), "same": codes("A", 8)},
    "b": {"x": [*codes("A", 6), "B1", "B2"]},
    "c": {"x": codes("C", 8)},
    "d": {"x": [*codes("C", 5), "D1", "D2", "D3"]},
    "e": {"x": codes("C", 8)},
}


def test_pairs_are_columns_of_two_tables_of_which_one_holds_most_of_the_other() -> None:
    lake = cells(a=codes("A", 10), b=codes("A", 7), c=[*codes("A", 6), "C1"], d=codes("D", 10))
    # Of a's ten values, b holds seven; of c's seven values, a and b hold six.
    assert positive_pairs(lake).tolist() == [[0, 1], [1, 0], [1, 2], [2, 0], [2, 1]]


def test_short_columns_are_no_anchors() -> None:
    lake = cells(a=codes("A", 4), b=codes("A", 5), c=codes("A", 4))
    assert positive_pairs(lake).tolist() == [[1, 0], [1, 2]]


def test_the_loss_is_that_of_finding_each_anchor_s_other() -> None:
    right, wrong = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[0.0, 1.0], [3.0, 0.0]])
    assert pair_loss(right, right) == pytest.approx(np.log(1 + np.exp(-20)), abs=1e-6)
    assert pair_loss(right, wrong) == pytest.approx(np.log(1 + np.exp(20)))
    assert pair_loss(right[:1], wrong[:1]) == 0


def test_pairs_are_told_from_others_and_a_seed_repeats() -> None:
    names = ("kx", "vo", "ub", "za", "wi", "ye", "to", "pa")
    lake = cells(**{name: codes("ABCD"[at // 2], 8) for at, name in enumerate(names)})
    queries = np.arange(0, 8, 2)
    state = torch.get_rng_state()
    before = nearest_texts(lake, queries)
    after, again = (fine_tuned_texts(lake, queries, seed=0) for _ in range(2))

    def loss(scores: np.ndarray) -> float:
        others = torch.tensor(scores[:, 1::2])
        return float(cross_entropy(20 * others, torch.arange(4)))

    assert loss(after) < 0.8 * loss(before)
    assert np.array_equal(after, again)
    assert torch.equal(torch.get_rng_state(), state)


def test_answers_are_columns_of_other_tables(tmp_path: Path) -> None:
    [deepjoin] = choose_rivals(["DeepJoin"])
    found = ask(deepjoin, suite(tmp_path, TABLES, "a.x"))["a.x"]
    assert {candidate for candidate, _ in found} == {"b.x", "c.x", "d.x", "e.x"}
    assert found[0][0] == "b.x"


def test_a_lake_without_pairs_teaches_nothing(tmp_path: Path) -> None:
    [deepjoin] = choose_rivals(["DeepJoin"])
    message = (
        "no column contains 70% of another table's column of at least 5 values, so there is no "
        "pair to learn from. Use tables that share more values"
    )
    lake = suite(tmp_path, {"a": {"x": codes("A")}, "b": {"x": codes("B")}}, "a.x")
    with pytest.raises(NoPairsError, match=re.escape(message)):
        ask(deepjoin, lake)
