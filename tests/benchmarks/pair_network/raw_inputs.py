"""A logistic model over the inputs of the pair network."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.pair_network.torch_network import PairTensors


class RawInputs(nn.Module):
    """A linear model that corrects the log-odds of candidate pairs.

    It shows what the inputs of the pair network alone are worth.

    Args:
        features: Number of features of a pair.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.output = nn.Linear(features, 1)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, batch: PairTensors) -> Float[Tensor, " pair"]:
        """Return the correction of each pair's log-odds.

        Args:
            batch: The candidate pairs of a lake.
        """
        standardised = ((batch.rows - self.mean) / self.scale).clamp(-5, 5)
        corrections: Tensor = self.output(standardised)[:, 0]
        return corrections
