"""The normal form, in which values of columns are compared.

The normal form ignores case, character width, surrounding and repeated spaces, characters that
cannot be seen, the typography of dashes and quotes, the script of digits, and differences in how
the same whole number or the same time is written. Leading zeros are kept, because they distinguish
codes.

`normal_form` defines it for one value. `normal_forms` computes the same for a whole column, and
`hash_values` the hashes that profiles keep.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import Mask, StringBytes
from datahub_hyperjoin.tables import ValueHash

Hashes = npt.NDArray[np.uint64]

_WHOLE = r"-?(?:0|[1-9][0-9]*)"
_DAY = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_MINUTE = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_UTC = r"(?:z|\+00(?::?00)?)?"

NEEDS_REWRITE = rf"^{_WHOLE}\.0+$|^-0$|^{_DAY}[t ]"
"""Pattern of the case-folded values that `REWRITES` may change."""
_NEEDS_REWRITE = re.compile(NEEDS_REWRITE)
REWRITES = (
    (rf"^({_WHOLE})\.0+$", r"\1"),
    (r"^-0$", "0"),
    (rf"^({_DAY})[t ]({_MINUTE}){_UTC}$", r"\1 \2:00"),
    (rf"^({_DAY})[t ]({_MINUTE}:[0-5][0-9])(?:(\.[0-9]*[1-9])0*|\.0+)?{_UTC}$", r"\1 \2\3"),
    (rf"^({_DAY}) 00:00:00$", r"\1"),
)
"""Patterns and replacements for numbers and times, applied in this order."""
_INVISIBLE = (0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F))
_ZEROS = (
    *(0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66),
    *(0xDE6, 0xE50, 0xED0, 0xF20, 0x1040, 0x17E0, 0x1810),
)
"""The digits zero of other scripts, each before the digits 1 to 9."""
_TYPOGRAPHY: Mapping[str, str] = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u00b4\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **{chr(zero + digit): str(digit) for zero in _ZEROS for digit in range(10)},
    **dict.fromkeys(map(chr, (*_INVISIBLE, *range(0x2060, 0x2070), 0xFEFF)), ""),
}
"""Maps dashes, quotes and digits to plain ones, and characters that cannot be seen to nothing."""
_PLAIN = str.maketrans({**_TYPOGRAPHY})
_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f "
_SPACES_INSIDE = ((r"[\t-\r\x1c-\x1f ]+", " "),)
_SPACE, _HYPHEN, _DOT, _ZERO, _LAST_ASCII = b" -.0\x7f"
_DAY_LENGTH = 10


def normal_form(value: str) -> str:
    """Return the normal form of a value.

    Examples:
        >>> normal_form("  New   York ")
        'new york'
        >>> normal_form("O\u2019Hara \u2013 12\u200b")
        "o'hara - 12"
        >>> normal_form("\u0661\u0662")
        '12'
        >>> normal_form("12.0"), normal_form("007"), normal_form("12.50")
        ('12', '007', '12.50')
        >>> normal_form("2024-01-31T00:00:00Z"), normal_form("2024-01-31 09:30:00.250")
        ('2024-01-31', '2024-01-31 09:30:00.25')
        >>> normal_form("Straße") == normal_form("STRASSE")
        True
    """
    normal = _fold(value)
    # Few values need what takes most of the time.
    if _NEEDS_REWRITE.match(normal):
        for pattern, replacement in REWRITES:
            normal = re.sub(pattern, replacement, normal)
    return normal


def normal_forms(values: pa.Array) -> pa.Array:
    """Return the normal forms of a column's values."""
    normal = pc.ascii_lower(values)
    text = StringBytes.of(values)
    is_foreign = text.containing(text.data > _LAST_ASCII)
    if is_foreign.any():
        # Only Python has the tables for full case folding; few distinct values need them.
        folded = [_fold(value) for value in values.filter(pa.array(is_foreign)).to_pylist()]
        normal = pc.replace_with_mask(normal, pa.array(is_foreign), pa.array(folded, pa.string()))
    normal = _without_extra_spaces(normal)
    # Regular expressions are slow, so a cheap test of bytes first leaves few values to them.
    suspects = np.flatnonzero(_may_need_rewrite(StringBytes.of(normal)))
    matches = pc.match_substring_regex(normal.take(pa.array(suspects)), NEEDS_REWRITE)
    needs_rewrite = np.zeros(len(normal), np.bool_)
    needs_rewrite[suspects] = matches.to_numpy(zero_copy_only=False)
    return _rewrite(normal, needs_rewrite, REWRITES)


def hash_values(normal: pa.Array, value_hash: ValueHash = ValueHash.SIPHASH) -> Hashes:
    """Hash each value to 64 bits.

    Examples:
        >>> import pyarrow as pa
        >>> hash_values(pa.array(["germany"]))
        array([12672609204639645099], dtype=uint64)
        >>> from datahub_hyperjoin.tables import ValueHash
        >>> hash_values(pa.array(["germany"]), ValueHash.MD5)
        array([2949636424903215903], dtype=uint64)
    """
    # pandas encodes strings to bytes one by one; casting in Arrow first is faster.
    objects = normal.cast(pa.binary()).to_numpy(zero_copy_only=False)
    if value_hash is ValueHash.MD5:
        digests = b"".join([md5(value, usedforsecurity=False).digest() for value in objects])
        return np.frombuffer(digests, ">u8")[::2].astype(np.uint64)
    return np.asarray(pd.util.hash_array(objects, categorize=False), dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Synonyms:
    """A mapping from the hashes of synonyms, such as `US` and `USA`, to that of their meaning."""

    hashes: Hashes
    """Hashes of normal forms, ascending, without duplicates."""

    meanings: Hashes
    """For each hash in `hashes`, the hash of the value's meaning, which all its synonyms share."""

    def translate(self, hashes: Hashes) -> Hashes:
        """Replace the hash of each synonym with that of its meaning; others stay as they are."""
        positions = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[positions] == hashes, self.meanings[positions], hashes)


def _fold(value: str) -> str:
    """Normalise case, character width and spaces.

    Compatibility normalisation runs both before and after case folding, because each can undo the
    other.
    """
    if value.isascii():
        return " ".join(value.lower().split())
    plain = unicodedata.normalize("NFKC", value.translate(_PLAIN))
    folded = unicodedata.normalize("NFKC", plain.casefold())
    return " ".join(folded.split())


def plain_spelling(character: str) -> str:
    r"""Return what stands for a character in normal forms.

    Examples:
        >>> plain_spelling("\uff21"), plain_spelling("\u2013"), plain_spelling("\xa0")
        ('a', '-', ' ')
    """
    return " " if character.isspace() else _fold(character)


def _without_extra_spaces(values: pa.Array) -> pa.Array:
    if not (suspects := _may_have_extra_spaces(StringBytes.of(values))).any():
        return values
    # Most have them at their ends, and to cut these takes a tenth of the time of an expression.
    trimmed = pc.ascii_trim(values.filter(pa.array(suspects)), _SPACES)
    inside = _may_have_extra_spaces(StringBytes.of(trimmed))
    return pc.replace_with_mask(
        values, pa.array(suspects), _rewrite(trimmed, inside, _SPACES_INSIDE)
    )


def _may_have_extra_spaces(strings: StringBytes) -> Mask:
    """Mark the strings that may contain superfluous or unusual spaces."""
    is_space = strings.data == _SPACE
    is_extra = strings.data < _SPACE
    is_extra[:-1] |= is_space[:-1] & is_space[1:]
    has_extra = strings.containing(is_extra)
    return has_extra | (strings.at(0) == _SPACE) | (strings.at(-1) == _SPACE)


def _may_need_rewrite(strings: StringBytes) -> Mask:
    """Mark the strings that may match the regular expression `NEEDS_REWRITE`."""
    suspects = np.zeros(len(strings.lengths), np.bool_)
    ends_in_zero = np.flatnonzero(strings.at(-1) == _ZERO)
    before = strings.at(-2, ends_in_zero)
    suspects[ends_in_zero] = (before == _DOT) | (before == _ZERO) | (before == _HYPHEN)
    long = np.flatnonzero(strings.lengths > _DAY_LENGTH)
    suspects[long] |= (strings.at(4, long) == _HYPHEN) & (strings.at(7, long) == _HYPHEN)
    return suspects


def _rewrite(values: pa.Array, chosen: Mask, rewrites: Sequence[tuple[str, str]]) -> pa.Array:
    """Rewrite the chosen values with regular expressions, applied in order."""
    if not chosen.any():
        return values
    rewritten = values.filter(pa.array(chosen))
    for pattern, replacement in rewrites:
        rewritten = pc.replace_substring_regex(rewritten, pattern, replacement)
    return pc.replace_with_mask(values, pa.array(chosen), rewritten)
