"""The normal form of a value: what two columns must share to join.

A value is compared without regard to case, width, outer and repeated spaces, and to how the same
whole number or the same moment happens to be written. A code keeps its leading zeros.

`normal_form` is the definition; `normal_forms` is the same over a whole column, and `hash_values`
what profiles keep of it.
"""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

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
_UNTIDY = r"^ |  | $|[\t-\r\x1c-\x1f]"


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
    if pc.any(pc.match_substring_regex(tidy, _UNTIDY)).as_py():
        tidy = pc.replace_substring_regex(tidy, r"[\t-\r\x1c-\x1f ]+", " ")
        tidy = pc.ascii_trim(tidy, " ")
    foreign = pc.invert(pc.string_is_ascii(values))
    if pc.any(foreign).as_py():
        # Only Python's tables know full case folding; few distinct values need them.
        folded = [_tidy(value) for value in values.filter(foreign).to_pylist()]
        tidy = pc.replace_with_mask(tidy, foreign, pa.array(folded, pa.string()))
    if pc.any(pc.match_substring_regex(tidy, _NEEDS_REWRITE)).as_py():
        for pattern, replacement in _REWRITES:
            tidy = pc.replace_substring_regex(tidy, pattern, replacement)
    return tidy


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
    objects = normal.to_numpy(zero_copy_only=False).astype(object, copy=False)
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
