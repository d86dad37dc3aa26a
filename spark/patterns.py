"""The shapes that values share, such as `A+ 9999`."""

import unicodedata
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.tables import Pattern

_LONGEST = 40
_CLASSES = {"Nd": "9", **dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me"), "A")}
_REWRITES = (
    (r"[A-Za-z]{2,}", "A+"),
    (r"[A-Za-z]", "A"),
    (r"[0-9]{5,}", "9+"),
    (r"[0-9]", "9"),
    (r"\s+", " "),
)


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
    foreign = pc.invert(pc.string_is_ascii(shaped))
    if pc.any(foreign).as_py():
        # Arrow builds its tables of Unicode classes anew in each call, which takes milliseconds.
        plain = [_in_ascii(value) for value in shaped.filter(foreign).to_pylist()]
        shaped = pc.replace_with_mask(shaped, foreign, pa.array(plain, pa.string()))
    for pattern, replacement in _REWRITES:
        shaped = pc.replace_substring_regex(shaped, pattern, replacement)
    return shaped


def patterns(values: pa.Array, count: int) -> tuple[Pattern, ...]:
    """The most frequent shapes.

    Args:
        values: Distinct values as written.
        count: How many shapes at most.

    Returns:
        Most frequent first; shapes of one frequency in alphabetical order.

    Examples:
        >>> import pyarrow as pa
        >>> [str(p.shape) for p in patterns(pa.array(["N102", "N55", "N713"]), 2)]
        ['A999', 'A99']
    """
    met = Counter(shapes(values).to_pylist())
    ranked = sorted(met.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(
        Pattern(shape=shape, share=occurrences / len(values))
        for shape, occurrences in ranked[:count]
    )


def _in_ascii(value: str) -> str:
    return "".join(_CLASSES.get(unicodedata.category(sign), sign) for sign in value)
