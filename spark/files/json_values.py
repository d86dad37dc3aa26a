"""Read JSON Lines files that Arrow cannot read.

Reading line by line takes several times as long. But only the lines that are not objects are lost,
and a key may have values of different types.
"""

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from math import isfinite

import pyarrow as pa

from datahub_hyperjoin.spark.columns import Column, RowEstimate
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.compression import DecompressedFile
from datahub_hyperjoin.spark.files.json_depth import is_deep
from datahub_hyperjoin.spark.files.stored import DataPath
from datahub_hyperjoin.spark.objects import batch_of
from datahub_hyperjoin.tables import DataType

JsonObject = Mapping[str, object]
"""An object of JSON, as Python reads it."""

_BLOCK = 1 << 22
_LONGEST = 1 << 26
"""Maximum length of a line that is parsed, in bytes. A longer one is skipped."""
_TOO_LONG = b"\n"
"""Stands for a line that is too long, since no line contains it."""
_EXACT_FLOATS = 2.0**53
_BOM = b"\xef\xbb\xbf"


def _number(text: str) -> float | int | None:
    value = float(text)
    if not isfinite(value):
        return None
    # As Arrow's texts: a whole number has no fraction.
    return int(value) if value.is_integer() and abs(value) < _EXACT_FLOATS else value


def _missing(_: str) -> None:
    """Convert `NaN` and `Infinity` to null."""


# Strings may hold control characters.
DECODER = json.JSONDecoder(strict=False, parse_float=_number, parse_constant=_missing)
"""Parses JSON into values as Arrow reads them."""


def columns_of_lines(path: DataPath) -> list[Column]:
    """List the columns of the JSON objects in the first lines of a file.

    Returns:
        The columns, in the order in which they appear. None if most lines are not objects.
    """
    lines, are_long = list[bytes](), False
    with DecompressedFile(path) as source:
        blocks = _blocks(source)
        while not lines and (block := next(blocks, None)) is not None:
            lines = [line for line in block if line != _TOO_LONG]
            are_long |= len(lines) < len(block)
    if are_long and not lines:
        raise UnreadableTableError.with_long_lines(_LONGEST >> 20)
    objects = [each for each in map(_object, lines) if each is not None]
    # If most lines are no objects, the file is something else than JSON Lines.
    return columns_of_objects(objects) if len(objects) * 2 >= len(lines) else []


def columns_of_objects(objects: Iterable[JsonObject]) -> list[Column]:
    """List the columns that JSON objects contain.

    Returns:
        The columns, in the order in which they appear. Members of nested objects are columns, as in
        `address.city`.
    """
    opaque: dict[str, bool] = {}
    for each in objects:
        for leaf, value in _leaves(each):
            # A column cannot be compared only if it never holds anything but lists.
            opaque[leaf] = isinstance(value, list) and opaque.get(leaf, True)
    # A name with half a surrogate pair has no UTF-8.
    names = [leaf for leaf in opaque if leaf.encode("utf-8", "ignore").decode() == leaf]
    return [
        Column(name, position, DataType.NESTED if opaque[name] else None)
        for position, name in enumerate(names)
    ]


def read_lines(
    path: DataPath, paths: Sequence[str], notes: list[str], extent: RowEstimate, *, after: int = 0
) -> Generator[pa.RecordBatch, None, None]:
    """Read the JSON objects in the lines of a file, after skipping the first `after` objects.

    Args:
        notes: Receives a note about lines that are not objects, and about those that are too long.
    """
    skipped = long = rows = 0
    try:
        with DecompressedFile(path) as source:
            for blocks, lines in enumerate(_blocks(source), start=1):
                objects = [_object(line) for line in lines]
                found = [each for each in objects if each is not None]
                long += lines.count(_TOO_LONG)
                skipped += len(objects) - len(found)
                new = found[max(0, after - rows) :]
                rows += len(found)
                extent.rows = rows * max(1.0, source.size(blocks * _BLOCK) / _BLOCK / blocks)
                if new:
                    yield batch_of_objects(new, paths)
    finally:
        if skipped > long:
            notes.append(f"skipped lines that are not JSON objects: {skipped - long}")
        if long:
            notes.append(f"skipped lines longer than {_LONGEST >> 20} MiB: {long}")


def batch_of_objects(objects: Sequence[JsonObject], paths: Sequence[str]) -> pa.RecordBatch:
    """Convert JSON objects to a batch of rows.

    Returns:
        One row for each object. A missing member is null, and so is a list.
    """
    rows = [dict(_leaves(each)) for each in objects]
    columns = [[_scalar(row.get(name)) for row in rows] for name in paths]
    return batch_of(paths, columns, rows=len(rows))


def _blocks(source: DecompressedFile) -> Iterator[list[bytes]]:
    """Yield a list of lines for each block of a file, with `_TOO_LONG` in place of long ones."""
    parts, length, is_first = list[bytes](), 0, True
    while block := source.read(_BLOCK):
        if is_first:
            block, is_first = block.removeprefix(_BOM), False
        start, *lines = block.split(b"\n")
        if length <= _LONGEST:
            parts.append(start)
        length += len(start)
        if not lines:
            yield []
            continue
        whole = [_joined(parts, length), *lines[:-1]]
        parts, length = lines[-1:], len(lines[-1])
        yield [line for line in whole if line.strip() or line == _TOO_LONG]
    last = _joined(parts, length)
    if last.strip() or last == _TOO_LONG:
        yield [last]


def _joined(parts: Sequence[bytes], length: int) -> bytes:
    return _TOO_LONG if length > _LONGEST else b"".join(parts)


def _object(line: bytes) -> JsonObject | None:
    if is_deep(line):
        return None
    try:
        value = DECODER.decode(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _leaves(value: JsonObject, prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, member in value.items():
        if isinstance(member, dict):
            yield from _leaves(member, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", member


def _scalar(value: object) -> object:
    return None if isinstance(value, list) else value
