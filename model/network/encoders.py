"""Encode each column as one vector (paper, equation 1).

The input is the table name, the column name and the content of the column.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from datahub_hyperjoin.model.network.features import Features, Names


class NameEncoder(nn.Module):
    r"""A module that computes one vector for each name.

    The result is the mean of learned token embeddings plus a projected word vector.

    The word vector distinguishes tokens outside the vocabulary, which share one embedding.
    """

    def __init__(self, *, vocabulary: int, dimension: int, width: int, name_vectors: bool) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary + 1, width, mode="mean", padding_idx=0)
        self.subwords = nn.Linear(dimension, width)
        self.name_vectors = name_vectors

    def forward(self, names: Names) -> Float[Tensor, "column width"]:
        """Compute one vector for each name."""
        tokens = self.embedding(names.tokens, names.starts)
        return tokens + self.subwords(names.vectors) if self.name_vectors else tokens


class ColumnEncoder(nn.Module):
    r"""A module that computes one vector for each column.

    The vector is a weighted sum of table name, column name and content.

    The weights are learned.

    $$x_v = W_0 \sum_{s} \mathrm{softmax}(w)_s\, h^s_v,\quad s \in
    \{\text{table}, \text{column}, \text{content}\}$$

    Args:
        name_vectors: Whether names are read as word vectors too.

    Shapes:
    """

    def __init__(
        self, *, vocabulary: int, dimension: int, content: int, width: int, name_vectors: bool
    ) -> None:
        super().__init__()
        self.table, self.name = (
            NameEncoder(
                vocabulary=vocabulary,
                dimension=dimension,
                width=width,
                name_vectors=name_vectors,
            )
            for _ in range(2)
        )
        self.content = nn.Sequential(
            nn.LayerNorm(content), nn.Linear(content, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.fusion = nn.Parameter(torch.zeros(3))
        self.output = nn.Linear(width, width)

    def forward(self, features: Features) -> Float[Tensor, "column width"]:
        """Compute one vector for each column, without regard to other columns."""
        table, name, content = torch.softmax(self.fusion, dim=0)
        fused = (
            table * self.table(features.tables)
            + name * self.name(features.names)
            + content * self.content(features.content)
        )
        return self.output(fused)
