"""Count the trigrams of texts, with all texts in one array.

The counts are those of scikit-learn's `HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3),
strip_accents="unicode", alternate_sign=False, norm=None)`, which takes a second to import and
visits one trigram after another.
"""

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int, UInt32
from scipy import sparse

_TEXTS = 1024
"""Number of texts whose trigrams are counted at once, which bounds memory."""

_SPACE = ord(" ")
_BITS = 21
"""Number of bits per character, so that three characters fit into one integer."""


def count_trigrams(texts: Sequence[str], buckets: int) -> Iterator[sparse.csr_array]:
    """Count the trigrams in the words of each text, with a space before and after each word.

    Letter case and accents are ignored.

    Yields:
        Matrices of one block of texts after another by buckets, of single precision; at least one.

    Examples:
        >>> [counts] = count_trigrams(["Zürich", "zurich ZURICH"], 2**16)
        >>> counts.sum(axis=1).tolist()
        [6.0, 12.0]
    """
    for start in range(0, max(len(texts), 1), _TEXTS):
        yield _count(texts[start : start + _TEXTS], buckets)


def _count(texts: Sequence[str], buckets: int) -> sparse.csr_array:
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
