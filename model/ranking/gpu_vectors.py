"""Find the nearest of many vectors on a GPU."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Int

from datahub_hyperjoin.model.signals.stored_vectors import StoredVectors

if TYPE_CHECKING:
    import torch

_VECTORS = 1 << 16
"""Number of vectors that are copied to the GPU at once."""
_AT_ONCE = 1 << 28
"""Number of cosines that are kept at once, which bounds memory."""
_SPARE_BYTES = 3 * 4 * _AT_ONCE
"""Memory that a search needs besides the vectors: the cosines, and what sorting them takes."""


class GpuVectors:
    """Vectors in the memory of a device, all of which are compared with each query."""

    def __init__(self, vectors: StoredVectors, device: "torch.device") -> None:
        import torch  # noqa: PLC0415 (takes seconds, and most lakes are too small to need it)

        self._vectors = torch.empty((len(vectors), vectors.width), device=device)
        for start in range(0, len(vectors), _VECTORS):
            some = slice(start, start + _VECTORS)
            self._vectors[some] = torch.from_numpy(vectors.at(some)).to(device)

    def search(
        self, queries: Float32[np.ndarray, "query width"], count: int
    ) -> Int[np.ndarray, "query count"]:
        """For each query, return the nearest vectors.

        Args:
            count: Number of vectors to find for each query, at most as many as there are.
        """
        import torch  # noqa: PLC0415

        step = max(_AT_ONCE // len(self._vectors), 1)
        parts = torch.from_numpy(queries).to(self._vectors.device).split(step)
        near = [(part @ self._vectors.T).topk(count).indices for part in parts]
        return torch.cat(near).cpu().numpy()


def find_gpu(vectors: StoredVectors) -> "torch.device | None":
    """Return the GPU if it has enough free memory to search the vectors; otherwise None."""
    import torch  # noqa: PLC0415

    if not torch.cuda.is_available():
        return None
    free, _ = torch.cuda.mem_get_info()
    # What earlier searches have left with PyTorch is free, too.
    free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    taken = len(vectors) * vectors.width * torch.float32.itemsize
    return torch.device("cuda") if taken + _SPARE_BYTES <= free else None
