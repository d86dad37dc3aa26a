import math

import pytest
import torch

from datahub_hyperjoin.model.network.hin import Attended, attend, attend_backward

PRECISIONS = [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 3e-2)]


def example(rows: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    return tuple(torch.randn(1, 2, rows, 4, dtype=dtype) for _ in range(4))


def dense(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    return query.double() @ key.double().transpose(2, 3) / math.sqrt(query.shape[3])


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_output_and_normalizer_equal_the_dense_formula(
    dtype: torch.dtype, tolerance: float
) -> None:
    query, key, value, _ = example(37, dtype)
    found, scores = attend(query, key, value), dense(query, key)
    assert (found.normalizer - scores.logsumexp(dim=3)).abs().max() < tolerance
    assert (found.output - scores.softmax(dim=3) @ value.double()).abs().max() < tolerance


def test_the_backward_pass_is_that_of_the_forward_pass() -> None:
    query, key, value, gradient = example(11, torch.float64)
    found = attend_backward(gradient, (query, key, value), attend(query, key, value))
    inputs = [part.requires_grad_() for part in (query, key, value)]
    (dense(query, key).softmax(dim=3) @ value).backward(gradient)
    for part, expected in zip(found, inputs, strict=True):
        torch.testing.assert_close(part, expected.grad)


def test_the_backward_pass_weighs_pairs_by_the_normalizer_it_is_given() -> None:
    query, key, value, gradient = example(11, torch.float64)
    plain = attend(query, key, value)
    other = Attended(plain.output, plain.normalizer + math.log(2), plain.rest)
    found = attend_backward(gradient, (query, key, value), other)
    for half, whole in zip(
        found, attend_backward(gradient, (query, key, value), plain), strict=True
    ):
        torch.testing.assert_close(half, whole / 2)
