"""Read the summary of a column that a database computed."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from sqlalchemy import Row

from datahub_hyperjoin.normal_form import Hashes
from datahub_hyperjoin.spark.counting.value_types import TYPE_PATTERNS
from datahub_hyperjoin.tables import DataType

FIRST_CHARACTER = 32
"""The character that stands for the length 0; a space."""
COUNTED_TYPES = (*TYPE_PATTERNS, DataType.TEXT)
"""The types of values, in the order of the bits by which a database reports them."""
_END_BYTES = 7
"""Number of bytes of a hash without its first byte."""


@dataclass(frozen=True, slots=True, eq=False)
class SqlCounts:
    """The summary of a column that a database computes: counts, hashes and texts."""

    rows: int
    """Number of rows."""

    nulls: int
    """Number of rows without a value; empty texts are nulls."""

    types: frozenset[DataType]
    """Types of the values that SQL normalised, without those of null words."""

    lengths: tuple[int, int] | None
    """Shortest and longest length of the values that SQL normalised; None without such values."""

    hashes: Hashes
    """The smallest hashes of the values that SQL normalised, ascending."""

    text_lengths: tuple[int, ...]
    """For each hash, the length of one text with this hash; 1,000 for longer texts."""

    sample: Mapping[str, int]
    """The texts of the first hashes, each with its number of rows."""

    others: Mapping[str, int] | None
    """Null words and texts that SQL cannot normalise, each with its number of rows. None if there
    are too many such texts, or if values of another type cannot be normalised; the column must then
    be read."""


def read_counts(row: Row[tuple[object, ...]]) -> SqlCounts:
    """Read the counts of a column from the row that the database returned.

    Args:
        row: A row of the statement that `count_values` executes.
    """
    hashes = _hashes_of(row)
    lengths = [ord(each) - FIRST_CHARACTER for each in row.text_lengths or ""]
    lengths = lengths * len(hashes) if len(lengths) == 1 else lengths
    others = _split(row.others, _numbers(row.other_lengths)) if row.fits else ()
    return SqlCounts(
        rows=int(row.total),
        nulls=int(row.empty),
        types=_types_of(row.types or 0),
        lengths=None if row.shortest is None else (row.shortest, row.longest),
        hashes=hashes,
        text_lengths=tuple(lengths),
        sample=dict(zip(_split(row.texts, lengths), _numbers(row.text_counts), strict=False)),
        others=dict(zip(others, _numbers(row.other_counts), strict=True)) if row.fits else None,
    )


def _numbers(joined: str | None) -> list[int]:
    return [int(number) for number in joined.split(",")] if joined else []


def _split(joined: str | None, lengths: Sequence[int]) -> Iterator[str]:
    """Split joined texts by their lengths."""
    bounds = pairwise(accumulate(lengths, initial=0))
    return ((joined or "")[start:end] for start, end in bounds)


def _hashes_of(row: Row[tuple[object, ...]]) -> Hashes:
    joined = row.ends or b""
    ends = np.frombuffer(
        joined if isinstance(joined, bytes) else base64.b64decode(joined), np.uint8
    ).reshape(-1, _END_BYTES)
    starts = np.frombuffer(bytes.fromhex(row.starts or ""), np.uint8)
    ranks = [rank - 1 for rank in _numbers(row.start_ranks)]
    digests = np.empty((len(ends), _END_BYTES + 1), np.uint8)
    digests[:, 0] = np.repeat(starts, np.diff([*ranks, len(ends)]))
    digests[:, 1:] = ends
    return digests.view(">u8")[:, 0].astype(np.uint64)


def _types_of(bits: int) -> frozenset[DataType]:
    types = frozenset(type_ for bit, type_ in enumerate(COUNTED_TYPES) if bits >> bit & 1)
    # Text fits all values, so the other types no longer matter.
    return frozenset({DataType.TEXT}) if DataType.TEXT in types else types
