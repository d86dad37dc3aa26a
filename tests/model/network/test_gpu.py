"""Compare the network on a GPU with the network on the processor."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch

from datahub_hyperjoin.model.config import OURS, ModelConfig, NetworkConfig, Precision
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.network.features import Features, Names
from datahub_hyperjoin.model.network.hin import (
    HIN,
    Attended,
    Batch,
    NetworkSizes,
    attend,
    attend_backward,
    to_device,
)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

COLUMNS, GPU = 700, torch.device("cuda")
SIZES = NetworkSizes(vocabulary=50, dimension=16, content=64, tables=90, steps=8)
ROWS = [1, 31, 32, 33, 500]
"""Row counts, including some near 32: one kernel expects padding to a multiple of 32."""


def heads(rows: int, dtype: torch.dtype, size: int = 32) -> Sequence[torch.Tensor]:
    """Draw random queries, keys and values of an attention layer, and a gradient of its output."""
    random = torch.Generator().manual_seed(rows)
    return [torch.randn(1, 2, rows, size, generator=random).to(dtype) for _ in range(4)]


@pytest.mark.parametrize(("rows", "size"), [*((rows, 32) for rows in ROWS), (37, 2), (37, 12)])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 4e-2)], ids=str
)
def test_both_passes_of_attention_are_those_of_the_processor(
    rows: int, size: int, dtype: torch.dtype, tolerance: float
) -> None:
    rounded = heads(rows, dtype, size)
    *inputs, gradient = (part.float() for part in rounded)
    expected = attend(*inputs)
    *there, there_gradient = (part.to(GPU) for part in rounded)
    found = attend(*there)
    pairs = [
        (found.output, expected.output),
        (found.normalizer, expected.normalizer),
        *zip(
            attend_backward(there_gradient, there, found),
            attend_backward(gradient, inputs, expected),
            strict=True,
        ),
    ]
    for one, other in pairs:
        torch.testing.assert_close(one.cpu().float(), other, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_backward_pass_weighs_pairs_by_the_normalizer_it_is_given(dtype: torch.dtype) -> None:
    *inputs, gradient = (part.to(GPU) for part in heads(37, dtype))
    plain = attend(*inputs)
    other = Attended(plain.output, plain.normalizer + np.log(2), plain.rest)
    found = attend_backward(gradient, inputs, other)
    for half, whole in zip(found, attend_backward(gradient, inputs, plain), strict=True):
        torch.testing.assert_close(half, whole / 2, atol=1e-2, rtol=1e-2)


def names(random: torch.Generator) -> Names:
    return Names(
        tokens=torch.randint(0, SIZES.vocabulary + 1, (2 * COLUMNS,), generator=random),
        starts=torch.arange(0, 2 * COLUMNS, 2),
        vectors=torch.randn(COLUMNS, SIZES.dimension, generator=random),
    )


def batch() -> Batch:
    random, positions = torch.Generator().manual_seed(1), np.random.default_rng(1)
    tables = np.sort(positions.integers(SIZES.tables, size=COLUMNS))
    within = np.split(np.arange(COLUMNS), np.flatnonzero(np.diff(tables)) + 1)
    across = np.array_split(positions.permutation(COLUMNS)[:200], 40)
    return Batch(
        features=Features(
            tables=names(random),
            names=names(random),
            content=torch.randn(COLUMNS, SIZES.content, generator=random),
        ),
        graph=Hypergraph.from_groups(COLUMNS, within=within, across=across),
        tables=torch.from_numpy(tables + 1),
        positions=torch.rand(COLUMNS, SIZES.steps, generator=random),
    )


def run(precision: Precision, device: torch.device) -> Sequence[torch.Tensor]:
    """Return the embeddings of a network, then the gradients of its parameters."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        method = replace(OURS, heads=4, dropout=0.0)
        config = NetworkConfig(width=64, precision=precision)
        network = HIN(ModelConfig(setting=method, network=config), SIZES)
    network = network.to(device)
    embeddings = network(to_device(batch(), device))
    (embeddings[:300] @ embeddings[300:600].T).square().sum().backward()
    gradients = (each.grad.to_dense() for each in network.parameters() if each.grad is not None)
    return [part.detach().cpu() for part in chain([embeddings], gradients)]


def cosine(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(torch.cosine_similarity(one.flatten(), other.flatten(), dim=0))


def test_embeddings_and_gradients_are_those_of_the_processor() -> None:
    expected = run(Precision.FLOAT32, torch.device("cpu"))
    found = run(Precision.FLOAT32, GPU)
    torch.testing.assert_close(found[0], expected[0], atol=1e-4, rtol=1e-4)
    assert min(map(cosine, found, expected)) > 0.9999


def test_half_precision_is_near_the_processor() -> None:
    expected, found = run(Precision.FLOAT32, torch.device("cpu")), run(Precision.AUTO, GPU)
    assert (found[0] * expected[0]).sum(dim=1).min() > 0.99
    assert min(map(cosine, found, expected)) > 0.95
