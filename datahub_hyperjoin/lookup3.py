"""Hash many strings at once as PostgreSQL's `hashtextextended(text, 0)` does.

A database that can compute the hash itself can select a sketch's values, and need not send the
others. The function is Bob Jenkins' lookup3 (http://burtleburtle.net/bob/c/lookup3.c, public
domain), as PostgreSQL writes its result in 64 bits (src/common/hashfn.c, `hash_bytes_extended`).
It works on 32-bit words, so NumPy needs few steps for each string, and any SQL could compute it.
"""

import numpy as np
import numpy.typing as npt

from datahub_hyperjoin.arrow_bytes import StringBytes

_Words = npt.NDArray[np.uint32]
_Positions = npt.NDArray[np.intp]

_SEED = np.uint32((0x9E3779B9 + 3923095) & 0xFFFFFFFF)
_WORD, _BLOCK = 4, 12
"""Bytes of a word, and of the three words that are mixed together."""
_CHUNK = 1 << 12
"""Strings hashed together: their words stay in the processor's cache."""
_BYTES_OF_WORD = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], np.uint32)
_MASKS = [_BYTES_OF_WORD[np.clip(np.arange(_BLOCK) - word * _WORD, 0, _WORD)] for word in range(3)]
"""For each word of the last block, the bits in use by the number of bytes in the block."""


def hash_strings(strings: StringBytes) -> npt.NDArray[np.uint64]:
    """Hash each string.

    Args:
        strings: The strings, of less than 2^19 bytes each; long ones take many steps.

    Returns:
        One hash per string.

    Examples:
        >>> import pyarrow as pa
        >>> hash_strings(StringBytes.of(pa.array(["germany", ""]))).tolist()
        [14966084240460156266, 11507180170145056365]
    """
    lengths = strings.lengths.astype(np.intp)
    starts, blocks = strings.bounds[:-1].astype(np.intp), lengths // _BLOCK
    # A word is read as a whole, even where the last string ends before.
    padded = np.concatenate([strings.data, np.zeros(_BLOCK, np.uint8)])
    words = np.ndarray((len(padded) - _WORD + 1,), "<u4", padded.data, strides=(1,))
    hashes = np.empty(len(lengths), np.uint64)
    # Strings with as many blocks are hashed together. Small numbers are sorted in one pass.
    order = np.argsort(blocks.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(blocks)) if len(blocks) else np.zeros(0, np.intp)
    begin = 0
    for count, end in enumerate(ends.tolist()):
        for start in range(begin, end, _CHUNK):
            chosen = order[start : min(start + _CHUNK, end)]
            hashes[chosen] = _hash(words, starts[chosen], lengths[chosen], count)
        begin = end
    return hashes


def _hash(
    words: _Words, at: _Positions, lengths: _Positions, blocks: int
) -> npt.NDArray[np.uint64]:
    """Hash strings that have the same number of whole blocks."""
    a = lengths.astype(np.uint32) + _SEED
    b, c = a.copy(), a.copy()
    for _ in range(blocks):
        a += words[at]
        b += words[at + _WORD]
        c += words[at + 2 * _WORD]
        _mix(a, b, c)
        at = at + _BLOCK
    left = lengths - blocks * _BLOCK
    a += words[at] & _MASKS[0][left]
    b += words[at + _WORD] & _MASKS[1][left]
    # The lowest byte of the last word is reserved for the length.
    c += (words[at + 2 * _WORD] & _MASKS[2][left]) << np.uint32(8)
    _finish(a, b, c)
    return (b.astype(np.uint64) << np.uint64(32)) | c


def _mix(a: _Words, b: _Words, c: _Words) -> None:
    steps = ((4, a, c, b), (6, b, a, c), (8, c, b, a), (16, a, c, b), (19, b, a, c), (4, c, b, a))
    for bits, one, two, three in steps:
        one -= two  # noqa: PLW2901 (in place)
        one ^= _rotated(two, bits)  # noqa: PLW2901
        two += three  # noqa: PLW2901


def _finish(a: _Words, b: _Words, c: _Words) -> None:
    steps = ((14, c, b), (11, a, c), (25, b, a), (16, c, b), (4, a, c), (14, b, a), (24, c, b))
    for bits, one, two in steps:
        one ^= two  # noqa: PLW2901 (in place)
        one -= _rotated(two, bits)  # noqa: PLW2901


def _rotated(words: _Words, bits: int) -> _Words:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
