"""The shapes that values share, such as `A+ 9999`."""

import itertools
import string
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import Bytes, Mask, Places, StringBytes, bounds_of, nth_of
from datahub_hyperjoin.tables import Pattern

_LONGEST = 40
_CLASSES = {"Nd": "9", **dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me"), "A")}
_LETTER, _DIGIT, _BLANK, _MORE = b"A9 +"
_LAST_ASCII = 0x7F
_SIGNS = bytes.maketrans(
    string.ascii_letters.encode() + string.digits.encode() + b"\t\n\f\r",
    b"A" * 52 + b"9" * 10 + b" " * 4,
)
"""What stands for each byte."""


def shapes(values: pa.Array) -> pa.Array:
    """The shape of each value.

    Two or more letters are `A+`, one is `A`; a digit is `9`, five or more are `9+`; everything
    else stands for itself. Of long values the first 40 characters tell.

    Args:
        values: Strings as written.

    Returns:
        As many shapes.

    Examples:
        >>> import pyarrow as pa
        >>> shapes(pa.array(["B6 1234", "Köln", "+49 221 5551234"])).to_pylist()
        ['A9 9999', 'A+', '+99 999 9+']
    """
    shaped = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(values), 0, _LONGEST)
    strings = StringBytes.of(shaped)
    foreign = strings.having(strings.data > _LAST_ASCII)
    if foreign.any():
        # Arrow builds its tables of Unicode classes anew in each call, which takes milliseconds.
        mask = pa.array(foreign)
        plain = [_in_ascii(value) for value in shaped.filter(mask).to_pylist()]
        strings = StringBytes.of(pc.replace_with_mask(shaped, mask, pa.array(plain, pa.string())))
    signs, kept = _shortened(strings)
    offsets = bounds_of(strings.count(kept)).astype(np.int32)
    return pa.StringArray.from_buffers(
        len(values), pa.py_buffer(offsets), pa.py_buffer(signs[kept])
    )


def patterns(values: pa.Array, bounds: Places, most: int) -> list[tuple[Pattern, ...]]:
    """The most frequent shapes of each of several columns.

    Args:
        values: Distinct values as written, those of one column after those of another.
        bounds: Where each column begins, and where the last one ends.
        most: How many shapes to keep.

    Returns:
        For each column its shapes, most frequent first; shapes of one frequency in alphabetical
        order.

    Examples:
        >>> import numpy as np, pyarrow as pa
        >>> [found] = patterns(pa.array(["N102", "N55", "N713"]), np.array([0, 3]), 2)
        >>> [str(pattern.shape) for pattern in found]
        ['A999', 'A99']
    """
    met = shapes(values).dictionary_encode()
    sizes, width = np.diff(bounds), max(len(met.dictionary), 1)
    columns = np.repeat(np.arange(len(sizes)), sizes)
    found = pc.value_counts(pa.array(columns * width + met.indices.to_numpy()))
    columns, codes = np.divmod(found.field(0).to_numpy(), width)
    times, alphabet = found.field(1).to_numpy(), pc.rank(met.dictionary).to_numpy()
    best = np.lexsort((alphabet[codes], -times, columns))
    met_in_each = np.bincount(columns, minlength=len(sizes))
    best = best[nth_of(bounds_of(met_in_each)) < most]
    shares = (times / sizes[columns])[best].tolist()
    named = zip(met.dictionary.take(pa.array(codes[best])).to_pylist(), shares, strict=True)
    listed = [Pattern(shape=shape, share=share) for shape, share in named]
    ends = bounds_of(np.minimum(met_in_each, most)).tolist()
    return [tuple(listed[begin:end]) for begin, end in itertools.pairwise(ends)]


def _shortened(strings: StringBytes) -> tuple[Bytes, Mask]:
    """What stands for each byte of strings, and which of it is part of a shape."""
    signs = strings.translated(_SIGNS)
    goes_on = np.zeros(len(signs), np.bool_)
    goes_on[1:] = signs[1:] == signs[:-1]
    goes_on[strings.bounds[:-1][strings.lengths > 0]] = False
    letters, digits, blanks = signs == _LETTER, signs == _DIGIT, signs == _BLANK
    second = goes_on & _moved(~goes_on, 1)
    beyond = digits & goes_on & _moved(goes_on, 1) & _moved(goes_on, 2) & _moved(goes_on, 3)
    fifth = beyond & _moved(~goes_on, 4)
    left_out = beyond | _moved(fifth, -1) | _moved(fifth, -2)
    left_out |= (blanks | (letters & ~second)) & goes_on
    signs[(letters & second) | _moved(fifth, -3)] = _MORE
    return signs, ~left_out


def _moved(marks: Mask, by: int) -> Mask:
    """The marks of the bytes so many places before."""
    found = np.zeros_like(marks)
    if by > 0:
        found[by:] = marks[:-by]
    else:
        found[:by] = marks[-by:]
    return found


def _in_ascii(value: str) -> str:
    return "".join(_CLASSES.get(unicodedata.category(sign), sign) for sign in value)
