import math
from dataclasses import replace

import pytest
import torch

from datahub_hyperjoin.model.config import OURS, Loss
from datahub_hyperjoin.model.training.train import (
    infonce_loss,
    measure_loss,
    semi_hard_loss,
    triplet_loss,
)

COSINES = torch.tensor([[0.9, 0.4, 0.8], [0.1, 0.2, 0.3]])
POSITIVE = torch.tensor([0, 1])
NEGATIVE = torch.tensor([[False, True, False], [True, False, True]])


def test_triplet_takes_the_hardest_candidate_that_is_a_negative() -> None:
    expected = ((1 + 0.4 - 0.9) + (1 + 0.3 - 0.2)) / 2
    assert triplet_loss(COSINES, POSITIVE, NEGATIVE, 1.0).item() == pytest.approx(expected)


def test_triplet_is_zero_beyond_the_margin() -> None:
    assert triplet_loss(COSINES[:1], POSITIVE[:1], NEGATIVE[:1], 0.5).item() == 0


def test_semi_hard_takes_the_hardest_negative_that_is_farther_away_than_the_positive() -> None:
    cosines = torch.tensor([[0.5, 0.9, 0.4, 0.1, 0.45]])
    negative = torch.tensor([[False, True, True, True, False]])
    found = semi_hard_loss(cosines, torch.tensor([0]), negative, 1.0).item()
    assert found == pytest.approx(1 + 0.4 - 0.5)


def test_semi_hard_takes_the_easiest_negative_where_none_is_farther_away() -> None:
    cosines = torch.tensor([[0.1, 0.9, 0.4, 0.05]])
    negative = torch.tensor([[False, True, True, False]])
    found = semi_hard_loss(cosines, torch.tensor([0]), negative, 1.0).item()
    assert found == pytest.approx(1 + 0.4 - 0.1)


def test_without_a_negative_both_triplet_losses_are_finite() -> None:
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    for loss in (triplet_loss, semi_hard_loss):
        assert loss(COSINES[:1], POSITIVE[:1], nothing, 2.5).item() == pytest.approx(0.6)


def test_infonce_counts_the_positive_and_the_negatives_only() -> None:
    first = math.log(1 + math.exp((0.4 - 0.9) / 0.1))
    second = math.log(1 + math.exp(-1) + math.exp(1))
    found = infonce_loss(COSINES, POSITIVE, NEGATIVE, 0.1).item()
    assert found == pytest.approx((first + second) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("loss", "expected"), [(Loss.TRIPLET, 0.8), (Loss.SEMI_HARD, 0.7), (Loss.INFONCE, 0.7072)]
)
def test_the_configuration_names_the_loss(loss: Loss, expected: float) -> None:
    method = replace(OURS, loss=loss, margin=1.0, temperature=0.1)
    found = measure_loss(COSINES, POSITIVE, NEGATIVE, method).item()
    assert found == pytest.approx(expected, abs=1e-3)
