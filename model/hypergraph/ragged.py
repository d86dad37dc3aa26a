"""Lists of unequal length, and sums over what they name.

Columns lie in hyperedges and hyperedges share columns. Both are sparse relations, kept as lists in
both directions: a sum along one direction has a gradient that is a sum along the other, so neither
pass scatters.
"""

from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag


@dataclass(frozen=True)
class Lists:
    """Lists of numbers, one after another."""

    members: Int[Tensor, " entry"]
    """What the lists name, list after list."""

    starts: Int[Tensor, " bound"]
    """Where each list begins in `members`, and where the last one ends."""

    @classmethod
    def from_pairs(
        cls, owner: Int[Tensor, " entry"], member: Int[Tensor, " entry"], count: int
    ) -> "Lists":
        """Sorts pairs into lists.

        Args:
            owner: The list that each pair belongs to.
            member: What it names there.
            count: How many lists there are; those without a pair are empty.

        Returns:
            Lists whose members are in order.
        """
        order = torch.argsort(member, stable=True)
        order = order[torch.argsort(owner[order], stable=True)]
        sizes = torch.bincount(owner, minlength=count)
        return cls(
            members=member[order], starts=torch.cat([sizes.new_zeros(1), sizes.cumsum(dim=0)])
        )

    @property
    def sizes(self) -> Int[Tensor, " list"]:
        """The length of each list."""
        return self.starts.diff()

    def sum(
        self,
        values: Float[Tensor, "source width"],
        weights: Float[Tensor, " entry"] | None = None,
    ) -> Float[Tensor, "list width"]:
        """Sums rows list by list, each weighed; without a gradient.

        Args:
            values: What `members` are rows of.
            weights: Of each entry; 1 without them.

        Returns:
            One row a list; zeros for an empty one.
        """
        return embedding_bag(
            self.members,
            values.contiguous(),
            self.starts,
            mode="sum",
            per_sample_weights=weights,
            include_last_offset=True,
        )


class _ListSum(torch.autograd.Function):
    """The sum along lists, whose gradient is the sum along their inverse."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, forth: Lists, back: Lists) -> Tensor:  # noqa: ANN401 - torch's own context has no public type
        ctx.back = back
        return forth.sum(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401 - as above
        return ctx.back.sum(gradients[0]), None, None


def mean_of_members(
    values: Float[Tensor, "source width"], forth: Lists, back: Lists
) -> Float[Tensor, "list width"]:
    """Averages rows list by list, with a gradient, in single precision at least.

    Args:
        values: What `forth` names the rows of.
        forth: The rows of each mean.
        back: The inverse: the means that each row enters.

    Returns:
        One row a list; zeros for an empty one.
    """
    exact = values.to(torch.promote_types(values.dtype, torch.float32))
    total = cast("Tensor", _ListSum.apply(exact, forth, back))  # type: ignore[no-untyped-call]
    return total / forth.sizes.clamp(min=1)[:, None]
