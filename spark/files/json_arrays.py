"""Read JSON files that contain an array of objects or an object of arrays.

An array is parsed element by element, so its size does not matter. An object is parsed as a whole:
it is a table if its members are the columns, or if one of them is an array of the rows.
"""

import codecs
import json
import re
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Literal

import pyarrow as pa
from typing_extensions import assert_never

from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import EmptyTableError, TooDeepError
from datahub_hyperjoin.spark.files.compression import DecompressedFile
from datahub_hyperjoin.spark.files.errors import NoTableInJsonError
from datahub_hyperjoin.spark.files.json_depth import MOST_LEVELS, is_deep
from datahub_hyperjoin.spark.files.json_lines import read_json_lines
from datahub_hyperjoin.spark.files.json_values import (
    DECODER,
    JsonObject,
    batch_of_objects,
    columns_of_objects,
)
from datahub_hyperjoin.spark.files.stored import DataPath

_BLOCK = 1 << 22
_LARGEST = 1 << 26
"""Maximum length of a value that is parsed at once, in characters: one element of an array, or one
object."""
_CUT = 10
"""An error within this many characters of a truncated text's end may be due to the truncation."""
_OPEN_STRING = "Unterminated string"
"""Start of the parser's message about a string that does not end."""
_METADATA = {"entityType", "changeType", "aspectName"}
"""Keys of every object that DataHub's `file` sink writes."""
_BETWEEN = re.compile(r"[\s,]*")


def read_json_file(path: DataPath, paths: Collection[str] | None) -> TableStream:
    """Open a JSON file.

    Args:
        paths: Paths of the columns to read; all if None.

    Returns:
        The table being read; members of nested objects are columns, as in `address.city`.
    """
    kind = _kind(path)
    match kind:
        case "lines":
            return read_json_lines(path, paths)
        case "elements":
            return _read_elements(path, paths)
        case "object":
            return _read_object(path, paths)
    assert_never(kind)


def _read_object(path: DataPath, paths: Collection[str] | None) -> TableStream:
    objects = _parse_object(path)
    columns, notes = choose_columns(columns_of_objects(objects), paths)
    batch = batch_of_objects(objects, readable_paths(columns))
    return TableStream(columns, (each for each in [batch]), notes, RowEstimate(len(objects)))


def _kind(path: DataPath) -> Literal["lines", "elements", "object"]:
    """Detect whether a file contains JSON Lines, an array or a single object."""
    with DecompressedFile(path) as source:
        head = _decoder().decode(source.read(_BLOCK)).lstrip()
    if not head:
        raise EmptyTableError.without_content()
    if head[0] not in "[{":
        raise NoTableInJsonError.at_all()
    if head[0] == "[":
        return "elements"
    with _translated():
        try:
            _, end = DECODER.raw_decode(head)
        except json.JSONDecodeError:
            return "object"
    # Objects may follow each other, one to a line or over several.
    if not head[end:].lstrip().startswith("{"):
        return "object"
    return "elements" if "\n" in head[:end].strip() else "lines"


def _read_elements(path: DataPath, paths: Collection[str] | None) -> TableStream:
    with closing(_blocks(path, RowEstimate())) as blocks:
        first = next(filter(None, blocks), None)
    if first is None:
        raise EmptyTableError.without_rows()
    objects = [each for each in first if each is not None]
    if len(objects) * 2 < len(first):
        raise NoTableInJsonError.but_values()
    if all(each.keys() >= _METADATA for each in objects):
        raise NoTableInJsonError.but_metadata()
    columns, notes = choose_columns(columns_of_objects(objects), paths)
    extent = RowEstimate()
    return TableStream(columns, _batches(path, columns, notes, extent), notes, extent)


def _batches(
    path: DataPath, columns: Sequence[Column], notes: list[str], extent: RowEstimate
) -> Generator[pa.RecordBatch, None, None]:
    names, skipped = readable_paths(columns), 0
    try:
        for elements in _blocks(path, extent):
            objects = [each for each in elements if each is not None]
            skipped += len(elements) - len(objects)
            if objects:
                yield batch_of_objects(objects, names)
    finally:
        if skipped:
            notes.append(f"skipped elements that are not JSON objects: {skipped}")


def _blocks(path: DataPath, extent: RowEstimate) -> Generator[list[JsonObject | None], None, None]:
    """Yield the elements of a JSON array in blocks; elements that are not objects become None.

    Before each block, the number of rows in `extent` is estimated again.
    """
    decoder, text, rows, characters = _decoder(), "", 0, 0
    with DecompressedFile(path) as source:
        while True:
            # An element that a block does not hold is parsed again from its start.
            block = source.read(max(_BLOCK, len(text)))
            text += decoder.decode(block, final=not block)
            if not characters:
                text = text.lstrip().removeprefix("[")
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
    """Return the complete elements at the start of a text, and the position after the last one.

    An element that is not an object, or is nested too deeply, becomes None.

    Returns:
        The elements, and the position after the last whole one.
    """
    elements: list[JsonObject | None] = []
    position = 0
    while True:
        start = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
        if start == len(text) or text[start] == "]":
            return elements, start
        with _translated():
            try:
                value, end = DECODER.raw_decode(text, start)
            except json.JSONDecodeError as error:
                if _is_cut(error) and not is_all:
                    return elements, start
                raise
        # A number at the end may go on in the next block.
        if end == len(text) and not is_all:
            return elements, start
        is_object = isinstance(value, dict) and not is_deep(text[start:end].encode())
        elements.append(value if is_object else None)
        position = end


def _parse_object(path: DataPath) -> Sequence[JsonObject]:
    with DecompressedFile(path) as source:
        text = _decoder().decode(source.read(_LARGEST + 1), final=True)
    if len(text) > _LARGEST:
        raise NoTableInJsonError.beyond_size(_LARGEST)
    if is_deep(text.encode()):
        raise TooDeepError.beyond(MOST_LEVELS)
    text = text.strip()
    with _translated():
        whole = DECODER.decode(text)
    # A part of a table may have one line.
    objects = _objects_of(whole) or [whole] * ("\n" not in text)
    if not objects:
        raise NoTableInJsonError.but_object()
    return objects


def _objects_of(whole: JsonObject) -> Sequence[JsonObject]:
    """Return the rows of a table that is stored as a single JSON object."""
    lists = {name: value for name, value in whole.items() if isinstance(value, list)}
    nested = {
        name: [each for each in value if isinstance(each, dict)] for name, value in lists.items()
    }
    rows = {name: each for name, each in nested.items() if each and len(each) == len(lists[name])}
    if len(rows) > 1:
        raise NoTableInJsonError.but_several([*rows])
    if rows:
        return next(iter(rows.values()))
    lengths = {len(value) for value in lists.values()}
    if len(lists) < len(whole) or len(lengths) != 1 or not any(lengths) or any(nested.values()):
        return []
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8-sig")("replace")


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
