"""The pair network in torch, for its training.

The package computes the same network without gradients (`model/network/pair_network.py`, which
explains it).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from datahub_hyperjoin.model.network.pair_network import CandidatePairs

_WIDTH, _ROUNDS = 32, 2
"""Size of the state of a pair, and number of rounds of messages."""

_EMPTY = -5.0
"""Stands for the maximum of a group without pairs; most values in normalised states are greater."""
_PRIOR = 0.5
"""Weight of a prior mean of 0, so that a group of improbable pairs has a mean near 0."""
_CHUNK = 1 << 17
"""Number of pairs whose features are scaled at once, which bounds memory."""


@dataclass(frozen=True)
class PairTensors:
    """The arrays of `CandidatePairs`, as tensors."""

    rows: Float[Tensor, "pair feature"]
    log_odds: Float[Tensor, " pair"]
    left: Int[Tensor, " pair"]
    right: Int[Tensor, " pair"]
    reverse: Int[Tensor, " pair"]
    table_of: Int[Tensor, " column"]
    tables: Int[Tensor, " pair"]
    towards: Int[Tensor, " pair"]

    @classmethod
    def of(cls, pairs: CandidatePairs) -> "PairTensors":
        """Convert the candidate pairs of a lake."""
        tensors = {name: torch.from_numpy(array) for name, array in vars(pairs).items()}
        # torch scatters by integers of 64 bits alone.
        return cls(
            **{
                name: each if each.is_floating_point() else each.long()
                for name, each in tensors.items()
            }
        )


def _maximum(
    states: Float[Tensor, "item width"], group: Int[Tensor, " item"], count: int
) -> Float[Tensor, "group width"]:
    start = states.new_full((count, states.shape[1]), _EMPTY)
    return start.scatter_reduce(0, group[:, None].expand_as(states), states, "amax")


def _total(
    states: Float[Tensor, "item width"], group: Int[Tensor, " item"], count: int
) -> Float[Tensor, "group width"]:
    return states.new_zeros(count, states.shape[1]).index_add(0, group, states)


def _count(group: Int[Tensor, " item"]) -> int:
    return int(group.max()) + 1 if len(group) else 0


class MessageRound(nn.Module):
    """One round of messages between candidate pairs, columns and tables."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.weight = nn.Linear(width, 1)
        self.column = nn.Sequential(nn.Linear(4 * width, width), nn.GELU())
        self.table = nn.Sequential(nn.Linear(2 * width, width), nn.GELU())
        self.update = nn.Sequential(
            nn.Linear(10 * width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(
        self, states: Float[Tensor, "pair width"], batch: PairTensors, *, messages: bool = True
    ) -> Float[Tensor, "pair width"]:
        """Return how much the state of each pair changes in this round.

        Args:
            states: The states before the round.
            batch: The pairs.
            messages: Whether pairs receive messages; without them, each pair sees itself only.
        """
        pairs = self.norm(states)
        if not messages:
            empty = torch.zeros_like(pairs).repeat(1, 9)
            return self.update(torch.cat([pairs, empty], dim=1))
        first, activation, second = self.update
        changes: Tensor = second(activation(self._receive(first, pairs, batch)))
        return changes

    def _receive(
        self, first: nn.Module, pairs: Float[Tensor, "pair width"], batch: PairTensors
    ) -> Float[Tensor, "pair hidden"]:
        """Apply the first layer of the update to the states that each pair receives.

        A pair receives its own state, that of its reverse, those of its columns and tables, those
        of the groups that it belongs to, and its lead: the difference of its state to the maximum
        of its left column. The layer is linear, so it is applied to columns, tables and groups
        before their pairs read them, which takes half of the time.
        """
        groups, (weights, bias) = self._groups(pairs, batch), first.parameters()
        own, back, left, left_table, right, right_table, mean, maximum, towards, lead = (
            each.T for each in weights.split(pairs.shape[1], dim=1)
        )
        column, table = groups["column"], groups["table"]
        of_left = column @ left + (table @ left_table)[batch.table_of] - groups["leading"] @ lead
        of_right = column @ right + (table @ right_table)[batch.table_of]
        of_tables = groups["mean between"] @ mean + groups["maximum between"] @ maximum
        of_towards = groups["towards"] @ towards
        reverse = (pairs @ back).index_select(0, batch.reverse.clamp(min=0))
        # The gradient of `index_select` is much faster than that of indexing.
        return (
            pairs @ (own + lead)
            + bias
            + torch.where(batch.reverse[:, None] >= 0, reverse, 0.0)
            + of_left.index_select(0, batch.left)
            + of_right.index_select(0, batch.right)
            + of_tables.index_select(0, batch.tables)
            + of_towards.index_select(0, batch.towards)
        )

    def _groups(
        self, pairs: Float[Tensor, "pair width"], batch: PairTensors
    ) -> dict[str, Float[Tensor, "group width"]]:
        """Aggregate the vectors of pairs into vectors for columns, tables and groups of pairs.

        A group holds the pairs between the same two tables, or between one column and one table.
        """
        weight = torch.sigmoid(self.weight(pairs) + batch.log_odds[:, None])

        def mean(group: Int[Tensor, " pair"], count: int) -> Float[Tensor, "group width"]:
            return _total(weight * pairs, group, count) / (_total(weight, group, count) + _PRIOR)

        columns, tables = len(batch.table_of), _count(batch.table_of)
        leading = _maximum(pairs, batch.left, columns)
        column = self.column(
            torch.cat(
                [
                    leading,
                    mean(batch.left, columns),
                    _maximum(pairs, batch.right, columns),
                    mean(batch.right, columns),
                ],
                dim=1,
            )
        )
        size = torch.bincount(batch.table_of, minlength=tables)[:, None]
        inside = [
            _total(column, batch.table_of, tables) / size.clamp(min=1),
            _maximum(column, batch.table_of, tables),
        ]
        return {
            "leading": leading,
            "column": column,
            "table": self.table(torch.cat(inside, dim=1)),
            "mean between": mean(batch.tables, _count(batch.tables)),
            "maximum between": _maximum(pairs, batch.tables, _count(batch.tables)),
            "towards": _maximum(pairs, batch.towards, _count(batch.towards)),
        }


class TorchPairNetwork(nn.Module):
    """A network that corrects the log-odds of a join for each candidate pair.

    The last layer starts at zero, so an untrained network corrects nothing.

    Args:
        features: Number of features of a pair.
        messages: Whether pairs receive messages. Without them, the network is a perceptron over
            the features of each pair.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, features: int, *, messages: bool = True) -> None:
        super().__init__()
        self.messages = messages
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.start = nn.Sequential(
            nn.Linear(features, 2 * _WIDTH), nn.GELU(), nn.Linear(2 * _WIDTH, _WIDTH)
        )
        self.rounds = nn.ModuleList(MessageRound(_WIDTH) for _ in range(_ROUNDS))
        self.output = nn.Linear(_WIDTH, 1)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, batch: PairTensors) -> Float[Tensor, " pair"]:
        """Return the correction to add to each pair's log-odds of a join.

        Args:
            batch: The candidate pairs of a lake.
        """
        # At once, the scaled features would take several times the memory of the states.
        states = torch.cat(
            [
                self.start(((rows - self.mean) / self.scale).clamp(-5, 5))
                for rows in batch.rows.split(_CHUNK)
            ]
        )
        for each in self.rounds:
            states = states + each(states, batch, messages=self.messages)
        return self.output(states)[:, 0]
