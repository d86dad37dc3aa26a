"""Lists of different lengths in one tensor, with sums and means over each list.

Columns are in hyperedges, and hyperedges share columns. Both are sparse relations, stored as lists
in both directions: the gradient of a sum along one direction is a sum along the other. Neither pass
needs a scatter, whose order of additions would differ from run to run on a GPU.
"""

from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag


@dataclass(frozen=True)
class Lists:
    """Lists of indices, stored one after another in one tensor."""

    members: Int[Tensor, " entry"]
    """The members of all lists, list after list."""

    starts: Int[Tensor, " bound"]
    """Start of each list in `members`, and the end of the last one."""

    @classmethod
    def from_pairs(
        cls, owner: Int[Tensor, " entry"], member: Int[Tensor, " entry"], count: int
    ) -> "Lists":
        """Build `count` lists of indices: put index `member[i]` into list number `owner[i]`.

        Args:
            owner: The number of the list to which each entry belongs.
            member: The index that each entry adds to its list.
            count: Number of lists; a list without an entry is empty.
        """
        # Sorted by owner, then by member, so that every run adds in the same order.
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
        """For each list, compute the weighted sum of the rows of `values` at the list's indices.

        Call it only where no gradient is recorded, such as within an autograd function.

        Args:
            weights: The weight of each entry, 1 by default.
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
    """A differentiable version of `Lists.sum`, without weights.

    The gradient of a row is a sum over the lists that contain the row.
    """

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
    """For each list of row numbers in `forth`, average the listed rows of `values`.

    The mean is differentiable, and computed in at least single precision.

    Args:
        back: The inverse of `forth`: the means that include each row.
    """
    # In half precision, long sums would lose small members.
    exact = values.to(torch.promote_types(values.dtype, torch.float32))
    total = cast("Tensor", _ListSum.apply(exact, forth, back))  # type: ignore[no-untyped-call]
    return total / forth.sizes.clamp(min=1)[:, None]
