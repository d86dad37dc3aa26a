"""Read JSON: one object to a line, an array of objects, or an object that holds a table.

Arrow reads JSON Lines. Those that it cannot read are read line by line, which takes several times
as long; but only lines that are not objects are lost, and a key may have values of several types.
An array is parsed element by element, so its size does not matter. An object is parsed as a whole:
`objects_of` finds its table.
"""

import codecs
import io
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from math import inf, isfinite

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
)
from datahub_hyperjoin.spark.errors import EmptyTableError, TooDeepError, UnreadableTableError
from datahub_hyperjoin.spark.files.encoding import marked_encoding
from datahub_hyperjoin.spark.files.errors import NoTableInJsonError
from datahub_hyperjoin.spark.files.formats import DuckDbCall, FileFormat
from datahub_hyperjoin.spark.files.json_objects import (
    JsonObject,
    are_objects,
    objects_of,
    rows_of_lists,
    rows_of_one,
)
from datahub_hyperjoin.spark.files.nested import flatten, leaf_columns, text_of_list
from datahub_hyperjoin.spark.files.stored import DataPath, DecompressedFile, path_of
from datahub_hyperjoin.spark.objects import batch_of
from datahub_hyperjoin.tables import DataType

_BLOCK = 1 << 22
"""Number of bytes that are parsed at once. The first block determines the columns."""
MOST_LEVELS = 200
"""Maximum number of levels to which JSON may be nested: Arrow's parser would crash on more."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_OPEN, _CLOSE = ord("{"), ord("}")


class _Utf8File(DecompressedFile):
    """A stream of a file in UTF-8, also if its mark says that it is UTF-16 or UTF-32."""

    _decoder: codecs.IncrementalDecoder | None = None
    _has_begun = False

    def read(self, size: int = -1, /) -> bytes:
        content = super().read(size)
        if not self._has_begun:
            self._has_begun = True
            encoding = marked_encoding(content)
            if encoding and encoding != _UTF8:
                self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        return self._decoder.decode(content).encode() if self._decoder else content


_UTF8 = "utf-8-sig"


class _ShallowLines(io.RawIOBase):
    """A stream of JSON Lines that raises an error if a line is nested too deeply."""

    def __init__(self, source: DecompressedFile) -> None:
        super().__init__()
        self._source = source
        self._line = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        content = self._source.read(size)
        lines = self._line + content
        if _has_many_brackets(lines) and any(map(_is_deep, lines.split(b"\n"))):
            raise TooDeepError.beyond(MOST_LEVELS)
        self._line = lines[lines.rfind(b"\n") + 1 :]
        return content


def _is_deep(line: bytes) -> bool:
    r"""Return whether a line of JSON, or its beginning, is nested too deeply.

    >>> [_is_deep(line) for line in (b"[" * 201, b"[" * 200, b'"' + b"[" * 201, b"[]" * 201)]
    [True, False, False, False]
    """
    if line.count(b"[") + line.count(b"{") <= MOST_LEVELS:
        return False
    codes = _codes(_STRING.sub(b"", line))
    steps = (codes == _OPEN).astype(np.int8) - (codes == _CLOSE)
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0)) > MOST_LEVELS


def _has_many_brackets(lines: bytes) -> bool:
    """Return whether a line has so many opening brackets that it may be nested too deeply."""
    # Brackets inside strings count, too: telling them apart takes ten times as long. A line with
    # too many brackets has all of a stretch that begins and ends at every hundredth.
    opens = np.flatnonzero(_codes(lines) == _OPEN)[:: MOST_LEVELS // 2].tolist()
    return any(lines.find(b"\n", begin, end) < 0 for begin, end in pairwise(opens))


def _codes(text: bytes) -> npt.NDArray[np.uint8]:
    # `[` and `{` differ in one bit, and so do `]` and `}`.
    return np.frombuffer(text, np.uint8) | np.uint8(0x20)


_Block = Sequence[JsonObject | bytes | None]
"""Objects, and what stands for lines that are too long, or for what is no object."""

_Keys = Mapping[str, str]
"""For each column to read, the keys that lead to its values, joined by dots."""

_LONGEST = 1 << 26
"""Maximum length of a line that is parsed, in bytes. A longer one is skipped."""
_TOO_LONG = b"\n"
"""Stands for a line that is too long, since no line contains it."""
_EXACT_FLOATS = 2.0**53
_BOM = b"\xef\xbb\xbf"
_BETWEEN_LINES = "\x1e \t\r,"
"""What may stand around the object in a line, as in a sequence of JSON texts (RFC 7464)."""


def _number(text: str) -> float | int | None:
    value = float(text)
    if not isfinite(value):
        return None
    # As Arrow's texts: a whole number has no fraction.
    return int(value) if value.is_integer() and abs(value) < _EXACT_FLOATS else value


def _missing(_: str) -> None:
    """Convert `NaN` and `Infinity` to null."""


# Strings may hold control characters.
_DECODER = json.JSONDecoder(strict=False, parse_float=_number, parse_constant=_missing)


def _columns_of_lines(path: DataPath) -> list[Column]:
    """List the columns of the objects in the first lines; none if most lines are not objects."""
    lines, are_long = list[bytes](), False
    with _Utf8File(path) as source:
        blocks = _blocks(source)
        while not lines and (block := next(blocks, None)) is not None:
            lines = [line for line in block if line != _TOO_LONG]
            are_long |= len(lines) < len(block)
    if are_long and not lines:
        raise UnreadableTableError.with_long_lines(_LONGEST >> 20)
    objects = [each for each in map(_object, lines) if each is not None]
    # If most lines are no objects, the file is something else than JSON Lines.
    return _columns_of_objects(objects) if len(objects) * 2 >= len(lines) else []


def _columns_of_objects(objects: Iterable[JsonObject]) -> list[Column]:
    """List the columns that JSON objects contain, in the order in which they appear."""
    opaque: dict[str, bool] = {}
    for each in objects:
        for leaf, value in _leaves(each):
            # A column cannot be compared only if it never holds anything but lists of objects.
            is_opaque = isinstance(value, list) and bool(value) and text_of_list(value) is None
            opaque[leaf] = is_opaque and opaque.get(leaf, True)
    # A name with half a surrogate pair has no UTF-8.
    names = [leaf for leaf in opaque if leaf.encode("utf-8", "ignore").decode() == leaf]
    return [
        Column(name, position, DataType.NESTED if opaque[name] else None)
        for position, name in enumerate(names)
    ]


def _line_blocks(path: DataPath, extent: RowEstimate) -> Iterator[_Block]:
    """Parse the lines of a file, in blocks."""
    rows = 0
    with _Utf8File(path) as source:
        for blocks, lines in enumerate(_blocks(source), start=1):
            objects = [line if line == _TOO_LONG else _object(line) for line in lines]
            rows += sum(isinstance(each, dict) for each in objects)
            extent.rows = rows * max(1.0, source.size(blocks * _BLOCK) / _BLOCK / blocks)
            yield objects


def _read_objects(
    blocks: Iterable[_Block], keys: _Keys, notes: list[str], what: str, *, after: int = 0
) -> Batches:
    """Read the objects of all blocks but the first `after`, and note what is none."""
    skipped = long = rows = 0
    try:
        for block in blocks:
            objects = [each for each in block if isinstance(each, dict)]
            long += block.count(_TOO_LONG)
            skipped += len(block) - len(objects)
            new = objects[max(0, after - rows) :]
            rows += len(objects)
            if new:
                yield _batch_of_objects(new, keys)
    finally:
        if skipped > long:
            notes.append(f"skipped {what} that are not JSON objects: {skipped - long}")
        if long:
            notes.append(f"skipped lines longer than {_LONGEST >> 20} MiB: {long}")


def _keys_of(columns: Sequence[Column], leaves: Sequence[Column]) -> _Keys:
    """Return the keys of the chosen columns, some of which have other names than their keys."""
    return {each.path: leaves[each.position].path for each in columns if not each.opaque}


def _batch_of_objects(objects: Sequence[JsonObject], keys: _Keys) -> pa.RecordBatch:
    """Convert each object to a row, with nulls for members that are missing or lists of objects."""
    rows = [dict(_leaves(each)) for each in objects]
    columns = [[_scalar(row.get(key)) for row in rows] for key in keys.values()]
    return batch_of([*keys], columns, rows=len(rows))


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
    if _is_deep(line):
        return None
    try:
        value = _DECODER.decode(line.decode("utf-8", "replace").strip(_BETWEEN_LINES))
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
    return text_of_list(value) if isinstance(value, list) else value


class JsonLines(FileFormat):
    """JSON Lines; members of nested objects are columns, as in `address.city`."""

    name = "jsonl"
    title = "JSON Lines files"
    suffixes = (".jsonl", ".ndjson", ".geojsonl")
    may_be_compressed = True
    plain_duckdb_calls = (
        DuckDbCall(function="read_json", suffixes=(".json", ".jsonl", ".ndjson"), is_guess=True),
    )

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        return _read_lines_in_blocks(path_of(file), paths)


class Json(FileFormat):
    """JSON with an array of objects, an object of arrays, or objects one after the other."""

    name = "json"
    title = "JSON files"
    suffixes = (".json", ".geojson", ".topojson")
    may_be_compressed = True
    plain_duckdb_calls = JsonLines.plain_duckdb_calls

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        path = path_of(file)
        return _reader_of(path)(path, paths)

    def duckdb_obstacle(self, file: File) -> str:
        """See `FileFormat.duckdb_obstacle`."""
        with suppress(TableError, OSError):
            if _reader_of(path_of(file)) is _read_object:
                return "its rows are parts of one value. Write them as JSON Lines"
        return ""


def _read_lines_in_blocks(path: DataPath, paths: Paths) -> TableStream:
    try:
        with _opened_lines(path) as (lines, _):
            leaves = leaf_columns(lines.schema)
    except (pa.ArrowInvalid, TooDeepError) as error:
        leaves = _columns_of_lines(path)
        if not leaves and _is_array(path):
            return _read_elements(path, paths)
        if not leaves:
            raise UnreadableTableError.because(_reason(error)) from error
    columns, notes = choose_columns(leaves, paths)
    extent = RowEstimate()
    batches = _batches_of_lines(path, _keys_of(columns, leaves), notes, extent)
    return TableStream(columns, batches, notes, extent)


@contextmanager
def _opened_lines(path: DataPath) -> Iterator[tuple[pa.RecordBatchReader, DecompressedFile]]:
    options = pa.json.ReadOptions(use_threads=False, block_size=_BLOCK)
    with (
        _Utf8File(path) as source,
        pa.json.open_json(_ShallowLines(source), read_options=options) as lines,
    ):
        yield lines, source


def _batches_of_lines(
    path: DataPath, keys: _Keys, notes: list[str], extent: RowEstimate
) -> Batches:
    rows = 0
    try:
        with _opened_lines(path) as (lines, source):
            for blocks, batch in enumerate(lines, start=1):
                # Each batch is one block; the blocks left have about as many rows each.
                estimate = max(1.0, source.size(blocks * _BLOCK) / _BLOCK / blocks)
                extent.rows = (rows + len(batch)) * estimate
                flat = flatten(batch, [*keys])
                if _is_rounded(flat):
                    break
                yield flat
                rows += len(batch)
            else:
                return
    except (pa.ArrowInvalid, TooDeepError) as error:
        notes.append(f"read line by line: {_reason(error)}")
    yield from _read_objects(_line_blocks(path, extent), keys, notes, "lines", after=rows)


def _is_rounded(batch: pa.RecordBatch) -> bool:
    """Return whether Arrow may have read integers as floats, which do not hold all their digits."""
    floats = (column for column in batch.columns if pa.types.is_floating(column.type))
    largest = (pc.max(pc.abs(column)).as_py() for column in floats)
    return any(each is not None and _EXACT_FLOATS <= each < inf for each in largest)


def _reason(error: Exception) -> str:
    if isinstance(error, TooDeepError):
        return f"a line is nested more than {MOST_LEVELS} levels deep"
    return str(error).splitlines()[0]


_LARGEST = 1 << 26
"""Maximum length of a value that is parsed at once, in characters: one element of an array, or one
object."""
_CUT = 10
"""An error within this many characters of a truncated text's end may be due to the truncation."""
_OPEN_STRING = "Unterminated string"
_METADATA = {"entityType", "changeType", "aspectName"}
"""Keys of every object that DataHub's `file` sink writes."""
_BETWEEN = re.compile(r"[\s,\x1e]*")


def _read_object(path: DataPath, paths: Paths) -> TableStream:
    objects = _parse_object(path)
    leaves = _columns_of_objects(objects)
    columns, notes = choose_columns(leaves, paths)
    batch = _batch_of_objects(objects, _keys_of(columns, leaves))
    return TableStream(columns, (each for each in [batch]), notes, RowEstimate(len(objects)))


def _reader_of(path: DataPath) -> Callable[[DataPath, Paths], TableStream]:
    """Detect whether a file contains JSON Lines, an array or a single object."""
    head = _head(path)
    if not head:
        raise EmptyTableError.without_content()
    if head[0] not in "[{":
        raise NoTableInJsonError.at_all()
    if head[0] == "[":
        return _read_object if _ARRAYS.match(head) else _read_elements
    with _translated():
        try:
            _, end = _DECODER.raw_decode(head)
        except json.JSONDecodeError:
            return _read_object
    # Objects may follow each other, one to a line or over several.
    if not _unpadded(head[end:]).startswith("{"):
        return _read_object
    return _read_elements if "\n" in head[:end].strip() else _read_lines_in_blocks


_ARRAYS = re.compile(r"\[\s*\[\s*[^\s{\]]")
"""How an array of arrays begins whose elements are no objects, but cells."""


def _head(path: DataPath) -> str:
    """Return the first block of a file, without what may stand before its first value."""
    with _Utf8File(path) as source:
        return _unpadded(_decoder().decode(source.read(_BLOCK)))


def _unpadded(text: str) -> str:
    return text[_BETWEEN.match(text).end() :]  # type: ignore[union-attr]


def _is_array(path: DataPath) -> bool:
    return _head(path).startswith("[")


def _read_elements(path: DataPath, paths: Paths) -> TableStream:
    with closing(_element_blocks(path, RowEstimate())) as blocks:
        first = next(filter(None, blocks), None)
    if first is None:
        raise EmptyTableError.without_rows()
    objects = [each for each in first if each is not None]
    if len(objects) * 2 < len(first):
        raise NoTableInJsonError.but_values()
    if all(each.keys() >= _METADATA for each in objects):
        raise NoTableInJsonError.but_metadata()
    if are_objects(first) and rows_of_one(first):
        return _read_object(path, paths)
    leaves = _columns_of_objects(objects)
    columns, notes = choose_columns(leaves, paths)
    extent = RowEstimate()
    blocks = _element_blocks(path, extent)
    batches = _read_objects(blocks, _keys_of(columns, leaves), notes, "elements")
    return TableStream(columns, batches, notes, extent)


def _element_blocks(
    path: DataPath, extent: RowEstimate
) -> Generator[list[JsonObject | None], None, None]:
    """Yield the elements of a JSON array in blocks; elements that are not objects become None."""
    # Before each block, the number of rows in `extent` is estimated again.
    decoder, text, rows, characters = _decoder(), "", 0, 0
    with _Utf8File(path) as source:
        while True:
            # An element that a block does not hold is parsed again from its start.
            block = source.read(max(_BLOCK, len(text)))
            text += decoder.decode(block, final=not block)
            if not characters:
                text = _unpadded(text).removeprefix("[")
            characters += len(block)
            elements, position = _parse(text, is_all=not block)
            rows += len(elements)
            extent.rows = rows * max(1.0, source.size(characters) / max(characters, 1))
            yield elements
            text = text[position:]
            if not block:
                return
            if len(text) > _LARGEST:
                raise NoTableInJsonError.beyond_size(_LARGEST)


def _parse(text: str, *, is_all: bool) -> tuple[list[JsonObject | None], int]:
    """Return the complete elements at the start of a text, and the position after the last one."""
    # An element that is not an object, or is nested too deeply, becomes None.
    elements: list[JsonObject | None] = []
    position = 0
    while True:
        start = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
        if start == len(text):
            return elements, start
        if text[start] == "]":
            # Another array may follow.
            after = _BETWEEN.match(text, start + 1).end()  # type: ignore[union-attr]
            if not text.startswith("[", after):
                return elements, start
            start = after
        with _translated():
            try:
                value, end = _DECODER.raw_decode(text, start)
            except json.JSONDecodeError as error:
                if _is_cut(error) and not is_all:
                    return elements, start
                raise
        # A number at the end may go on in the next block.
        if end == len(text) and not is_all:
            return elements, start
        is_deep = _is_deep(text[start:end].encode())
        values = value if isinstance(value, list) else [value]
        elements += [each if isinstance(each, dict) and not is_deep else None for each in values]
        position = end


def _parse_object(path: DataPath) -> Sequence[JsonObject]:
    with _Utf8File(path) as source:
        text = _decoder().decode(source.read(_LARGEST + 1), final=True)
    if len(text) > _LARGEST:
        raise NoTableInJsonError.beyond_size(_LARGEST)
    if _is_deep(text.encode()):
        raise TooDeepError.beyond(MOST_LEVELS)
    text = text.strip()
    with _translated():
        whole = _DECODER.decode(text)
    # A part of a table may have one line.
    if isinstance(whole, list):
        objects = rows_of_one(whole) if are_objects(whole) else rows_of_lists(whole)
        error = NoTableInJsonError.but_values()
    else:
        objects = objects_of(whole) or [whole] * ("\n" not in text)
        error = NoTableInJsonError.but_object()
    if not objects:
        raise error
    return objects


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(_UTF8)("replace")


def _is_cut(error: json.JSONDecodeError) -> bool:
    """Return whether parsing may have failed only because the text is cut off."""
    return error.msg.startswith(_OPEN_STRING) or error.pos > len(error.doc) - _CUT


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise TooDeepError.beyond(MOST_LEVELS) from error
    except json.JSONDecodeError as error:
        if error.msg.startswith(_OPEN_STRING) or error.pos >= len(error.doc.rstrip()):
            raise NoTableInJsonError.cut_off() from error
        raise NoTableInJsonError.invalid(error.msg) from error
