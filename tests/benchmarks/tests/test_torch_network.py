"""Test that the pair network computes the same messages as plain loops over pairs."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from benchmarks.pair_network import torch_network
from benchmarks.pair_network.torch_network import MessageRound, PairTensors, TorchPairNetwork

FEATURES = 5
TABLE_OF = [0, 0, 1, 1, 2, 2]
PAIRS = [(0, 2), (0, 4), (1, 3), (2, 0), (2, 5), (4, 0), (5, 2)]


def batch_of(pairs: list[tuple[int, int]], table_of: list[int], rows: Tensor) -> PairTensors:
    def number(groups: list[tuple[int, ...]]) -> Tensor:
        distinct = sorted({*groups})
        return torch.tensor([distinct.index(group) for group in groups])

    ends = [(table_of[left], table_of[right]) for left, right in pairs]
    return PairTensors(
        rows=rows,
        log_odds=rows[:, 0],
        left=torch.tensor([left for left, _ in pairs]),
        right=torch.tensor([right for _, right in pairs]),
        reverse=torch.tensor([pairs.index((b, a)) if (b, a) in pairs else -1 for a, b in pairs]),
        table_of=torch.tensor(table_of),
        tables=number([tuple(sorted(both)) for both in ends]),
        towards=number([(left, table_of[right]) for left, right in pairs]),
    )


@pytest.fixture
def rows() -> Tensor:
    return torch.randn(len(PAIRS), FEATURES, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def batch(rows: Tensor) -> PairTensors:
    return batch_of(PAIRS, TABLE_OF, rows)


@pytest.fixture
def network() -> TorchPairNetwork:
    torch.manual_seed(1)
    trained = TorchPairNetwork(FEATURES)
    torch.nn.init.normal_(trained.output.weight)
    return trained.eval()


def maximum(states: list[Tensor], width: int) -> Tensor:
    return torch.stack([*states, torch.full((width,), -5.0)]).amax(dim=0)


def one_by_one(layer: MessageRound, states: Tensor, batch: PairTensors) -> Tensor:
    """Compute a round of messages with loops."""
    width, numbers = states.shape[1], range(len(states))
    pairs = [layer.norm(state) for state in states]
    weights = [torch.sigmoid(layer.weight(pairs[n]) + batch.log_odds[n]) for n in numbers]

    def mean(members: list[int]) -> Tensor:
        total = sum((weights[n] * pairs[n] for n in members), torch.zeros(width))
        return total / (sum((weights[n] for n in members), torch.zeros(1)) + 0.5)

    def best(members: list[int]) -> Tensor:
        return maximum([pairs[n] for n in members], width)

    def those(ids: Tensor, wanted: int) -> list[int]:
        return [n for n in numbers if ids[n] == wanted]

    columns = []
    for column in range(len(batch.table_of)):
        out, back = those(batch.left, column), those(batch.right, column)
        columns.append(layer.column(torch.cat([best(out), mean(out), best(back), mean(back)])))
    tables = []
    for table in range(int(batch.table_of.max()) + 1):
        inside = [columns[c] for c in range(len(columns)) if batch.table_of[c] == table]
        both = torch.cat([torch.stack(inside).mean(dim=0), maximum(inside, width)])
        tables.append(layer.table(both))
    changes = []
    for n in numbers:
        left, right = int(batch.left[n]), int(batch.right[n])
        reverse, between = int(batch.reverse[n]), those(batch.tables, int(batch.tables[n]))
        messages = [
            pairs[n],
            pairs[reverse] if reverse >= 0 else torch.zeros(width),
            columns[left],
            tables[int(batch.table_of[left])],
            columns[right],
            tables[int(batch.table_of[right])],
            mean(between),
            best(between),
            best(those(batch.towards, int(batch.towards[n]))),
            pairs[n] - best(those(batch.left, left)),
        ]
        changes.append(layer.update(torch.cat(messages)))
    return torch.stack(changes)


def test_a_round_equals_loops_over_single_pairs(batch: PairTensors) -> None:
    torch.manual_seed(2)
    layer, states = MessageRound(8), torch.randn(len(PAIRS), 8)
    torch.testing.assert_close(layer(states, batch), one_by_one(layer, states, batch))


def test_chunks_change_nothing(
    batch: PairTensors, network: TorchPairNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = network(batch)
    monkeypatch.setattr(torch_network, "_CHUNK", 3)
    torch.testing.assert_close(network(batch), whole)


def test_an_untrained_network_corrects_nothing(batch: PairTensors) -> None:
    assert not TorchPairNetwork(FEATURES)(batch).any()


def test_other_numbers_of_columns_and_tables_change_nothing(
    batch: PairTensors, network: TorchPairNetwork, rows: Tensor
) -> None:
    column, table = [3, 5, 0, 1, 4, 2], [2, 0, 1]
    table_of = [0] * len(column)
    for old, new in enumerate(column):
        table_of[new] = table[TABLE_OF[old]]
    renamed = batch_of([(column[a], column[b]) for a, b in PAIRS], table_of, rows)
    torch.testing.assert_close(network(renamed), network(batch))


def test_a_pair_hears_of_others_through_messages_only(
    batch: PairTensors, network: TorchPairNetwork, rows: Tensor
) -> None:
    other = replace(batch, rows=torch.cat([rows[:1], rows[1:] + 1]))
    assert not torch.isclose(network(other)[0], network(batch)[0])
    network.messages = False
    assert torch.isclose(network(other)[0], network(batch)[0])
    assert not torch.isclose(network(other)[1], network(batch)[1])


def test_features_are_scaled_and_bounded(batch: PairTensors, network: TorchPairNetwork) -> None:
    before = network(batch)
    network.mean.fill_(1.0)
    network.scale.fill_(2.0)
    scaled = replace(batch, rows=2 * batch.rows + 1)
    torch.testing.assert_close(network(scaled), before)
    extreme = replace(batch, rows=torch.full_like(batch.rows, 1e9))
    assert torch.isfinite(network(extreme)).all()


def test_a_lake_without_candidates_has_no_corrections(
    batch: PairTensors, network: TorchPairNetwork
) -> None:
    empty = {name: tensor[:0] for name, tensor in vars(batch).items()}
    assert network(PairTensors(**empty | {"table_of": batch.table_of})).shape == (0,)
