"""Hash one text, as a plain oracle for the hashes of many."""

from hashlib import md5

_WORD = 0xFFFFFFFF


def _rotate(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _WORD


def hash_value(normal: str) -> int:
    """Return the hash of a normal form, as a profile keeps it."""
    data = normal.encode()
    return hash_text(md5(data, usedforsecurity=False).hexdigest() if len(data) > 255 else normal)


def hash_text(text: str) -> int:
    """Return what PostgreSQL's `hashtextextended(text, 0)` returns, as an unsigned number."""
    data = text.encode()
    a = b = c = (0x9E3779B9 + len(data) + 3923095) & _WORD
    while len(data) >= 12:
        one, two, three = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4, 8))
        a, b, c = (a + one) & _WORD, (b + two) & _WORD, (c + three) & _WORD
        for bits in (4, 6, 8, 16, 19, 4):
            a = ((a - c) & _WORD) ^ _rotate(c, bits)
            c = (c + b) & _WORD
            a, b, c = b, c, a
        data = data[12:]
    one, two, three = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4, 8))
    a, b, c = (a + one) & _WORD, (b + two) & _WORD, (c + (three << 8)) & _WORD
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotate(b, bits)) & _WORD
        a, b, c = b, c, a
    # The seven steps have turned the words once around and one step further.
    a, b, c = c, a, b
    return (b << 32) | c
