import pytest
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from datahub_hyperjoin.model.network.optimizers import build_optimizers, set_rate, take_step

ROWS, WIDTH = 6, 4


class Small(nn.Module):
    def __init__(self, rows: int = ROWS, *, sparse: bool = True) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, WIDTH, padding_idx=0, sparse=sparse)
        self.linear = nn.Linear(WIDTH, 1)

    def forward(self, places: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.tanh(self.table(places))).pow(2).sum()


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_both_halves_take_the_steps_of_adam() -> None:
    ours, plain = Small(), Small(sparse=False)
    plain.load_state_dict(ours.state_dict())
    optimizers = build_optimizers(ours)
    set_rate(optimizers, 0.1)
    adam = torch.optim.Adam(plain.parameters(), lr=0.1)
    every = torch.arange(ROWS)
    for _ in range(5):
        take_step(ours, optimizers, ours(every), clip=1.0)
        adam.zero_grad()
        plain(every).backward()
        clip_grad_norm_(plain.parameters(), 1.0)
        adam.step()
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_a_gradient_is_clipped_over_both_halves() -> None:
    network = Small()
    optimizers = build_optimizers(network)
    set_rate(optimizers, 0.0)
    for clip, expected in ((1e-3, 1e-3), (1e9, None)):
        take_step(network, optimizers, 100 * network(torch.tensor([1, 1, 3])), clip=clip)
        norm = float(
            torch.stack(
                [p.grad.to_dense().norm() for p in network.parameters() if p.grad is not None]
            ).norm()
        )
        assert norm == pytest.approx(expected, rel=1e-3) if expected else norm > 1.0


def test_tables_out_of_the_batch_stay_as_they_are() -> None:
    network = Small()
    optimizers = build_optimizers(network)
    set_rate(optimizers, 0.1)
    before = network.table.weight.detach().clone()
    take_step(network, optimizers, network(torch.tensor([1, 3, 0])), clip=1.0)
    take_step(network, optimizers, network(torch.tensor([3])), clip=1.0)
    moved = (network.table.weight != before).any(dim=1)
    assert moved.tolist() == [False, True, False, True, False, False]


def test_a_network_without_sparse_parts_has_one_optimizer() -> None:
    network = nn.Linear(2, 1)
    optimizers = build_optimizers(network)
    assert len(optimizers) == 1
    set_rate(optimizers, 0.1)
    before = network.weight.detach().clone()
    take_step(network, optimizers, network(torch.ones(1, 2)).sum(), clip=1.0)
    assert not network.weight.equal(before)
