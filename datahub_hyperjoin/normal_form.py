"""The normal form of a value: what two columns must share to join.

A value is compared without regard to case, width, outer and repeated spaces, and to how the same
whole number or the same moment happens to be written. A code keeps its leading zeros.

`normal_form` is the definition; `normal_forms` is the same over a whole column, and `hash_values`
what profiles keep of it.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import Mask, StringBytes

Hashes = npt.NDArray[np.uint64]

_WHOLE = r"-?(?:0|[1-9][0-9]*)"
_DAY = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_MINUTE = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_UTC = r"(?:z|\+00:?00)?"

_NEEDS_REWRITE = rf"^{_WHOLE}\.0+$|^-0$|^{_DAY}[t ]"
_REWRITES = (
    (rf"^({_WHOLE})\.0+$", r"\1"),
    (r"^-0$", "0"),
    (rf"^({_DAY})[t ]({_MINUTE}){_UTC}$", r"\1 \2:00"),
    (rf"^({_DAY})[t ]({_MINUTE}:[0-5][0-9])(?:(\.[0-9]*[1-9])0*|\.0+)?{_UTC}$", r"\1 \2\3"),
    (rf"^({_DAY}) 00:00:00$", r"\1"),
)
_TIDYING = ((r"[\t-\r\x1c-\x1f ]+", " "), (r"^ | $", ""))
_SPACE, _HYPHEN, _DOT, _ZERO, _LAST_ASCII = b" -.0\x7f"
_DAY_LENGTH = 10


def normal_form(value: str) -> str:
    """What a value is compared as.

    Args:
        value: As written.

    Returns:
        The normal form; the empty string stands for no value.

    Examples:
        >>> normal_form("  New   York ")
        'new york'
        >>> normal_form("12.0"), normal_form("007"), normal_form("12.50")
        ('12', '007', '12.50')
        >>> normal_form("2024-01-31T00:00:00Z"), normal_form("2024-01-31 09:30:00.250")
        ('2024-01-31', '2024-01-31 09:30:00.25')
        >>> normal_form("Straße") == normal_form("STRASSE")
        True
    """
    tidy = _tidy(value)
    for pattern, replacement in _REWRITES:
        tidy = re.sub(pattern, replacement, tidy)
    return tidy


def normal_forms(values: pa.Array) -> pa.Array:
    """The normal forms of many values.

    Args:
        values: Strings, without nulls.

    Returns:
        As many strings, each the `normal_form` of its value.
    """
    tidy = pc.ascii_lower(values)
    signs = StringBytes.of(values)
    foreign = signs.having(signs.data > _LAST_ASCII)
    if foreign.any():
        # Only Python's tables know full case folding; few distinct values need them.
        folded = [_tidy(value) for value in values.filter(pa.array(foreign)).to_pylist()]
        tidy = pc.replace_with_mask(tidy, pa.array(foreign), pa.array(folded, pa.string()))
    tidy = _rewritten(tidy, _may_be_untidy(StringBytes.of(tidy)), _TIDYING)
    suspects = np.flatnonzero(_may_need_rewrite(StringBytes.of(tidy)))
    matches = pc.match_substring_regex(tidy.take(pa.array(suspects)), _NEEDS_REWRITE)
    needy = np.zeros(len(tidy), np.bool_)
    needy[suspects] = matches.to_numpy(zero_copy_only=False)
    return _rewritten(tidy, needy, _REWRITES)


def hash_values(normal: pa.Array) -> Hashes:
    """A 64-bit hash of each value: SipHash with a fixed key, the same on every machine.

    Args:
        normal: Normal forms, without nulls.

    Returns:
        As many hashes.

    Examples:
        >>> import pyarrow as pa
        >>> hash_values(pa.array(["germany"]))
        array([12672609204639645099], dtype=uint64)
    """
    # Of a string pandas makes bytes first; Arrow makes them sooner.
    objects = normal.cast(pa.binary()).to_numpy(zero_copy_only=False)
    return np.asarray(pd.util.hash_array(objects, categorize=False), dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Synonyms:
    """Values that stand for the same, such as `US` and `USA`, by their hashes."""

    hashes: Hashes
    """Of normal forms, ascending, each once."""

    meanings: Hashes
    """What each stands for: one hash for all that mean the same."""

    def translate(self, hashes: Hashes) -> Hashes:
        """Puts what values stand for in their places.

        Args:
            hashes: Of any values.

        Returns:
            As many; a value that stands for nothing known stays as it is.
        """
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[places] == hashes, self.meanings[places], hashes)


def _tidy(value: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold())
    return " ".join(folded.split())


def _may_be_untidy(strings: StringBytes) -> Mask:
    """Strings among which are all that have outer, repeated or unusual spaces."""
    spaces = strings.data == _SPACE
    odd = strings.data < _SPACE
    odd[:-1] |= spaces[:-1] & spaces[1:]
    return strings.having(odd) | (strings.at(0) == _SPACE) | (strings.at(-1) == _SPACE)


def _may_need_rewrite(strings: StringBytes) -> Mask:
    """Strings among which are all that `_NEEDS_REWRITE` knows."""
    found = np.zeros(len(strings.lengths), np.bool_)
    zeros = np.flatnonzero(strings.at(-1) == _ZERO)
    before = strings.at(-2, zeros)
    found[zeros] = (before == _DOT) | (before == _ZERO) | (before == _HYPHEN)
    long = np.flatnonzero(strings.lengths > _DAY_LENGTH)
    found[long] |= (strings.at(4, long) == _HYPHEN) & (strings.at(7, long) == _HYPHEN)
    return found


def _rewritten(values: pa.Array, chosen: Mask, rewrites: Sequence[tuple[str, str]]) -> pa.Array:
    """Replaces what patterns match in the values that are chosen."""
    if not chosen.any():
        return values
    new = values.filter(pa.array(chosen))
    for pattern, replacement in rewrites:
        new = pc.replace_substring_regex(new, pattern, replacement)
    return pc.replace_with_mask(values, pa.array(chosen), new)
