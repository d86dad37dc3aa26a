"""Recognise delimited text by its content if the file name does not tell the format."""

import codecs
from dataclasses import replace

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.file_formats import DEFAULT_DIALECT, Dialect
from datahub_hyperjoin.spark.files.compression import DecompressedFile
from datahub_hyperjoin.spark.files.stored import DataPath
from datahub_hyperjoin.spark.files.text_head import find_delimiter, split_titles

_BYTES_READ = 1 << 14
_FEWEST_NAMES, _LONGEST_NAME = 2, 60
_FEWEST_ROWS = 2
"""Minimum number of lines of a table: a header and one row."""
_FEWEST_REGULAR = 0.9
"""Minimum share of rows that must have as many fields as the header."""


def is_delimited(path: DataPath, dialect: Dialect = DEFAULT_DIALECT) -> bool:
    """Return whether the beginning of a file is a header and rows, and not prose.

    Args:
        dialect: The dialect in which the file would be read.
    """
    with DecompressedFile(path) as file:
        return has_rows(file.read(_BYTES_READ), dialect)


def has_rows(content: bytes, dialect: Dialect = DEFAULT_DIALECT) -> bool:
    r"""Return whether the content of a text file is a header and rows, and not prose.

    The header has short names without spaces around them, and most rows have as many fields. In
    prose, a space follows each comma.

    Args:
        dialect: The dialect in which the file would be read.

    >>> has_rows(b"stop_id;stop_name\n8000;Halle\n"), has_rows(b"Dear Ann,\nthank you, and bye\n")
    (True, False)
    """
    head = _decode(content)
    if "\0" in head:
        return False
    try:
        dialect = replace(dialect, delimiter=dialect.delimiter or find_delimiter(head, dialect))
    except TableError:
        return False
    _, rows = split_titles(head, dialect)
    if len(rows) < _FEWEST_ROWS:
        return False
    header, *others = rows
    # R and pandas leave the name of the first column empty.
    names = header if header[0] else header[1:]
    are_names = len(names) >= _FEWEST_NAMES and all(
        name and name == name.strip() and len(name) <= _LONGEST_NAME for name in names
    )
    regular = sum(len(row) == len(header) for row in others)
    return are_names and regular >= _FEWEST_REGULAR * len(others)


def _decode(content: bytes) -> str:
    """Decode text well enough to find its delimiters, which are ASCII in nearly all encodings."""
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if marked else "latin-1", errors="ignore")
