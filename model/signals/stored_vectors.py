"""Store the vectors of columns once for all columns that are equal, in few bytes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int, Num


@dataclass(frozen=True)
class StoredVectors:
    """One vector for each of some items, such as the columns of a lake."""

    numbers: Num[np.ndarray, "stored width"]
    """The stored vectors, of single precision, or of integers that `scale` multiplies."""

    scale: Float32[np.ndarray, " stored"] | None
    """What each vector of integers is multiplied with; None for vectors of single precision."""

    stored: Int[np.ndarray, " item"]
    """The stored vector of each item."""

    @classmethod
    def of(cls, vectors: Float32[np.ndarray, "item width"]) -> "StoredVectors":
        """Store a vector for each item.

        Args:
            vectors: The vectors; they are not copied if they are contiguous.
        """
        numbers = np.ascontiguousarray(vectors, dtype=np.float32)
        return cls(numbers, None, np.arange(len(vectors)))

    @property
    def width(self) -> int:
        """The number of dimensions."""
        return self.numbers.shape[1]

    def select(self, items: Int[np.ndarray, " chosen"]) -> "StoredVectors":
        """Return the vectors of some items, without copying them."""
        return StoredVectors(self.numbers, self.scale, self.stored[items])

    def at(self, items: Int[np.ndarray, "*chosen"] | slice) -> Float32[np.ndarray, "*_ width"]:
        """Return a copy of some vectors."""
        stored = self.stored[items]
        vectors: Float32[np.ndarray, "*_ width"] = self.numbers[stored]
        return vectors if self.scale is None else vectors * self.scale[stored][..., None]

    def as_array(self) -> Float32[np.ndarray, "item width"]:
        """Return the vectors of all items; not a copy, if they are stored one by one."""
        count = len(self)
        if self.scale is None and count == len(self.numbers):
            is_whole = np.array_equal(self.stored, np.arange(count))
            return self.numbers if is_whole else self.numbers[self.stored]
        return self.at(slice(None))

    def __len__(self) -> int:
        return len(self.stored)
