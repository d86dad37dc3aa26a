"""Compare columns by the trigrams of their cells, so that misspelled values match, too.

Columns that hold the same values with typing errors, in another word order or with other
punctuation share few values but most of their trigrams. Each column is represented by the bag of
trigrams of its sampled cells, weighted by TF-IDF with logarithmic counts (Salton and Buckley, 1988)
and projected at random to a dense vector, which preserves cosines (Li, Hastie and Church, 2006).
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int, Int16, Num, UInt16, UInt32
from scipy import sparse

from datahub_hyperjoin.arrow_bytes import PackedTexts
from datahub_hyperjoin.model.array_cache import cached_arrays
from datahub_hyperjoin.model.signals.pairs import Ints, Vectors, number_distinct


def scale_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Scale each row of a matrix to length 1; empty rows stay empty."""
    rows = len(matrix.indptr) - 1
    row = np.repeat(np.arange(rows), np.diff(matrix.indptr))
    lengths = np.sqrt(np.bincount(row, matrix.data * matrix.data, minlength=rows))
    scaled = matrix.data / np.where(lengths > 0, lengths, 1)[row]
    parts = (scaled.astype(matrix.dtype), matrix.indices, matrix.indptr)
    return sparse.csr_array(parts, shape=matrix.shape)


@dataclass(frozen=True)
class StoredVectors:
    """One vector for each of some items, such as the columns of a lake."""

    # The stored vectors, of single precision, or of integers that `scale` multiplies.
    numbers: Num[np.ndarray, "stored width"]
    # What each vector of integers is multiplied with; None for vectors of single precision.
    scale: Float32[np.ndarray, " stored"] | None
    stored: Int[np.ndarray, " item"]

    @classmethod
    def of(cls, vectors: Float32[np.ndarray, "item width"]) -> "StoredVectors":
        """Store a vector for each item."""
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


_TEXTS = 1024  # number of texts whose trigrams are counted at once, which bounds memory

_SPACE = ord(" ")
_BITS = 21  # number of bits per character, so that three characters fit into one integer


def count_trigrams(texts: Iterable[str], buckets: int) -> Iterator[sparse.csr_array]:
    """Count the trigrams in the words of each text, with a space before and after each word."""
    waiting, size = iter(texts), _TEXTS
    while size == _TEXTS:
        block = [*islice(waiting, _TEXTS)]
        size = len(block)
        yield _count_block(block, buckets)


def _count_block(texts: Sequence[str], buckets: int) -> sparse.csr_array:
    plain = [" ".join(_without_accents(text.lower()).split()) for text in texts]
    joined = f" {' '.join(plain)} ".encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(joined, dtype="<u4").astype(np.int64)
    # Each trigram has its middle in a word, since all other white space was replaced.
    middle = np.flatnonzero(letters != _SPACE)
    before, at, after = letters[middle - 1], letters[middle], letters[middle + 1]
    trigrams = (before << 2 * _BITS) | (at << _BITS) | after
    number, distinct = pd.factorize(trigrams)
    text = np.repeat(np.arange(len(plain)), [len(each) + 1 for each in plain])[middle - 1]
    ones, bucket = np.ones(len(text), dtype=np.float32), _hash(distinct) % buckets
    return sparse.csr_array((ones, (text, bucket[number])), shape=(len(plain), buckets))


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _hash(trigrams: Int[np.ndarray, " trigram"]) -> Int[np.ndarray, " trigram"]:
    """Hash the UTF-8 bytes of each trigram, and drop the sign of the hash."""
    shifts = np.array([2 * _BITS, _BITS, 0])
    letters = (trigrams[:, None] >> shifts) & ((1 << _BITS) - 1)
    text = letters.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    encoded = [
        text[start : start + 3].encode("utf-8", "surrogatepass") for start in range(0, len(text), 3)
    ]
    lengths = np.array([len(each) for each in encoded], dtype=np.uint32)
    words = np.array(encoded, dtype="S12").view("<u4").reshape(-1, 3)
    return np.abs(_murmur_hash(words, lengths).view(np.int32).astype(np.int64))


def _murmur_hash(
    words: UInt32[np.ndarray, "key 3"], lengths: UInt32[np.ndarray, " key"]
) -> UInt32[np.ndarray, " key"]:
    """Compute MurmurHash3 (Appleby, 2011) of keys that are padded with zeros to 12 bytes."""
    state = np.zeros(len(words), dtype=np.uint32)
    for place, word in enumerate(words.T):
        mixed = word * np.uint32(0xCC9E2D51)
        mixed = state ^ ((mixed << 15 | mixed >> 17) * np.uint32(0x1B873593))
        turned = (mixed << 13 | mixed >> 19) * np.uint32(5) + np.uint32(0xE6546B64)
        # The last bytes that make no whole word are only mixed in.
        state = np.where(place < lengths // 4, turned, mixed)
    state ^= lengths
    state = (state ^ (state >> 16)) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> 13)) * np.uint32(0xC2B2AE35)
    return state ^ (state >> 16)


_TRIGRAMS = 2**16
"""Number of buckets for hashed trigrams; a lake in one script has about ten thousand trigrams."""

_AT_ONCE = 192
"""Number of vectors that are compared at once; more would not fit into the processor's cache."""

# scikit-learn has no annotations, and the types that checkers infer from its defaults are wrong.
_PROJECTION: dict[str, Any] = {
    "n_components": 1024,
    "density": 0.05,
    "dense_output": True,
    "random_state": 0,
}
"""Settings of the random projection, which changes cosines by about 0.03."""

_MANY = 1 << 15
"""Number of columns above which vectors have half of the components, and so need half of the memory
and of the time to be compared. Their cosines change by about 0.04."""


@cache
def _projection(width: int) -> sparse.csr_array:
    """Return a random matrix that projects trigram counts to vectors of `width` components."""
    # The first call on a machine takes a second; the matrix is then kept in the user's cache
    # folder.
    arrays = cached_arrays("projection-2", _draw_projection, packages=("numpy", "scikit-learn"))
    shape = (_TRIGRAMS, _PROJECTION["n_components"])
    # Every entry has the same size, so that a sign says all.
    data = arrays["signs"] * arrays["size"]
    whole = sparse.csr_array((data, arrays["indices"], arrays["indptr"]), shape=shape)
    # The components are drawn independently, so some of them are a projection, too.
    return whole if width == shape[1] else whole[:, :width]


def _draw_projection() -> dict[str, np.ndarray]:
    # It takes a second to import, and most runs find the matrix in the cache.
    from sklearn.random_projection import SparseRandomProjection  # noqa: PLC0415

    drawn = SparseRandomProjection(**_PROJECTION).fit(np.zeros((1, _TRIGRAMS), dtype=np.float32))
    # Transposed once here, since a product would transpose it for each block of columns.
    matrix = drawn.components_.T.tocsr()
    return {
        "signs": np.sign(matrix.data).astype(np.int16),
        "size": np.abs(matrix.data[:1]),
        "indices": matrix.indices.astype(np.int32),
        "indptr": matrix.indptr.astype(np.int32),
    }


@dataclass(frozen=True)
class _Counts:
    """How often each of some samples has each trigram, in half of the bytes of a sparse matrix."""

    indices: UInt16[np.ndarray, " entry"]
    data: Num[np.ndarray, " entry"]
    indptr: Int[np.ndarray, " bound"]

    @classmethod
    def of(cls, counts: sparse.csr_array) -> "_Counts":
        greatest = int(counts.data.max(initial=0))
        data = counts.data.astype(np.min_scalar_type(greatest))
        return cls(counts.indices.astype(np.uint16), data, counts.indptr)

    def unpack(self) -> sparse.csr_array:
        parts = (self.data.astype(np.float32), self.indices.astype(np.int32), self.indptr)
        return sparse.csr_array(parts, shape=(len(self.indptr) - 1, _TRIGRAMS))


def _rarity(
    blocks: Sequence[_Counts], columns: Int[np.ndarray, " sample"]
) -> Float32[np.ndarray, " trigram"]:
    """Return the smoothed IDF of each trigram, as scikit-learn defines it."""
    holders, start = np.zeros(_TRIGRAMS), 0
    for counts in blocks:
        stop = start + len(counts.indptr) - 1
        times = np.repeat(columns[start:stop], np.diff(counts.indptr))
        holders += np.bincount(counts.indices, times, minlength=_TRIGRAMS)
        start = stop
    rarity: Float32[np.ndarray, " trigram"] = np.log(
        np.float32(columns.sum() + 1) / (holders.astype(np.float32) + 1)
    )
    return rarity + 1


def _project(
    counts: sparse.csr_array, rarity: Float32[np.ndarray, " trigram"], width: int
) -> Vectors:
    """Weigh the counts of each column by TF-IDF, and project them to a unit vector."""
    data = (np.log(counts.data) + 1) * rarity[counts.indices]
    weighted = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    projected: Vectors = (scale_rows(weighted) @ _projection(width)).toarray()
    lengths = np.sqrt(np.einsum("ij,ij->i", projected, projected))
    projected /= np.where(lengths > 0, lengths, 1)[:, None]
    return projected


def _round(vectors: Vectors) -> Int16[np.ndarray, "column width"]:
    """Scale each vector so that its greatest number becomes ±32,767, and round it to integers."""
    # Integers take half of the memory of single precision and change cosines by less than 0.00001,
    # where the projection changes them by 0.03. Processors convert integers faster than half
    # precision.
    greatest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors * (32_767 / np.where(greatest > 0, greatest, 1))).astype(np.int16)


def _inverse_lengths(codes: Int16[np.ndarray, "column width"]) -> Float32[np.ndarray, " column"]:
    """Return 1 / length of each vector; 0 for a vector of zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.float64))
    return (1 / np.where(lengths > 0, lengths, np.inf)).astype(np.float32)


class CellSimilarity:
    """The similarity of columns, measured by the trigrams of their cells."""

    def __init__(self, samples: Sequence[Sequence[str]]) -> None:
        distinct, number = number_distinct(map(PackedTexts.of, samples))
        stored = number.astype(np.int32)
        blocks = [*map(_Counts.of, count_trigrams(map(" ".join, distinct), _TRIGRAMS))]
        rarity = _rarity(blocks, np.bincount(stored, minlength=len(distinct)))
        width = _PROJECTION["n_components"] // (2 if len(samples) > _MANY else 1)
        codes = np.empty((len(distinct), width), dtype=np.int16)
        filled = 0
        # The sparse products of all samples at once would take three times the memory of the
        # vectors.
        while blocks:
            counts = blocks.pop(0).unpack()
            rows = counts.shape[0]
            codes[filled : filled + rows] = _round(_project(counts, rarity, width))
            filled += rows
        self._inverse_lengths = _inverse_lengths(codes)
        self.vectors = StoredVectors(codes, self._inverse_lengths, stored)
        """Unit vectors; zeros for a column without cells."""

    def between(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float32[np.ndarray, "query l r"]:
        """Compare the cells of each left column of a query with those of every right one."""
        step = max(_AT_ONCE // max(left.shape[1] + right.shape[1], 1), 1)
        cosines = [
            self._of(left[start : start + step])
            @ self._of(right[start : start + step]).swapaxes(1, 2)
            for start in range(0, max(len(left), 1), step)
        ]
        scale = self._scale(left)[:, :, None] * self._scale(right)[:, None, :]
        return np.clip(np.concatenate(cosines) * scale, 0.0, 1.0)

    def _of(self, columns: Ints) -> Float32[np.ndarray, "*shape width"]:
        return self.vectors.numbers[self.vectors.stored[columns]].astype(np.float32)

    def _scale(self, columns: Ints) -> Float32[np.ndarray, "*shape"]:
        return self._inverse_lengths[self.vectors.stored[columns]]
