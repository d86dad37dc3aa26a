"""The shapes that values share, such as `A+ 9999`."""

import itertools
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.strings import Bytes, Mask, Places, StringBytes, bounds_of
from datahub_hyperjoin.tables import Pattern

_LONGEST = 40
_CLASSES = {"Nd": "9", **dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me"), "A")}
_LETTER, _DIGIT, _BLANK, _MORE = b"A9 +"
_LAST_ASCII = 0x7F
_SIGNS = np.arange(256, dtype=np.uint8)
_SIGNS[[sign for sign in range(128) if chr(sign).isalpha()]] = _LETTER
_SIGNS[[sign for sign in range(128) if chr(sign).isdigit()]] = _DIGIT
_SIGNS[list(b"\t\n\f\r")] = _BLANK
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
    offsets = bounds_of(kept)[strings.bounds].astype(np.int32)
    return pa.StringArray.from_buffers(
        len(values), pa.py_buffer(offsets), pa.py_buffer(signs[kept])
    )


def patterns(values: pa.Array, bounds: Places, count: int) -> list[tuple[Pattern, ...]]:
    """The most frequent shapes of each of several columns.

    Args:
        values: Distinct values as written, those of one column after those of another.
        bounds: Where each column begins, and where the last one ends.
        count: How many shapes at most.

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
    order = pc.array_sort_indices(met.dictionary)
    alphabetical = np.empty(len(order), np.int64)
    alphabetical[order.to_numpy()] = np.arange(len(order))
    columns = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    codes = columns * len(order) + alphabetical[met.indices.to_numpy()]
    codes, times = np.unique(codes, return_counts=True)
    columns, codes = np.divmod(codes, max(len(order), 1))
    ranked = np.lexsort((codes, -times, columns))
    begins = np.searchsorted(columns, np.arange(len(bounds)))
    ranked = ranked[np.arange(len(ranked)) - begins[columns] < count]
    written = met.dictionary.take(order.take(pa.array(codes[ranked]))).to_pylist()
    shares = times[ranked] / np.diff(bounds)[columns[ranked]]
    found = [
        Pattern(shape=shape, share=share)
        for shape, share in zip(written, shares.tolist(), strict=True)
    ]
    ends = np.searchsorted(columns[ranked], np.arange(len(bounds))).tolist()
    return [tuple(found[begin:end]) for begin, end in itertools.pairwise(ends)]


def _shortened(strings: StringBytes) -> tuple[Bytes, Mask]:
    """What stands for each byte of strings, and which of it is part of a shape."""
    signs = _SIGNS.take(strings.data)
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
