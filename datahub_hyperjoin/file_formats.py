"""File formats, and the syntax of delimited text."""

from dataclasses import dataclass
from enum import Enum


class FileFormat(str, Enum):
    """The format of a file that contains rows of a table."""

    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    JSON_LINES = "jsonl"
    JSON = "json"
    FIXED_WIDTH = "fwf"
    DUCKDB = "duckdb"

    @property
    def is_delimited(self) -> bool:
        """Whether the format is text with a character between fields."""
        return self in {FileFormat.CSV, FileFormat.TSV}


def _can_delimit(character: str) -> bool:
    return len(character) == 1 and character.isascii() and character not in "\0\r\n"


def _is_encoding(name: str) -> bool:
    try:
        "".encode(name)
    except LookupError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The syntax of delimited text files, such as CSV."""

    delimiter: str | None = None
    """Character between fields. By default a tab in .tsv files; in others, comma, semicolon, tab or
    bar is detected for each file."""

    quote: str = '"'
    """Character around fields that contain a delimiter, a quote or a line break; inside a field it
    is doubled. Empty if no field is quoted."""

    escape: str = ""
    """Character after which the next one is read literally."""

    encoding: str | None = None
    """Python's name of the encoding, as in `cp1251`. By default, the encoding is detected for each
    file: that of the byte order mark, else UTF-8, else the older encoding that the text resembles
    most."""

    def __post_init__(self) -> None:
        """Check the encoding, and that delimiter, quote and escape are valid and different."""
        for name in ("delimiter", "quote", "escape"):
            character = getattr(self, name)
            if character and not _can_delimit(character):
                message = f"`{name}` is {character!r}; it must be one ASCII character"
                raise ValueError(message)
        if self.delimiter == "":
            message = "`delimiter` is empty. Remove the key to detect it in each file"
            raise ValueError(message)
        characters = [c for c in (self.delimiter, self.quote, self.escape) if c]
        if len(characters) > len({*characters}):
            message = "`delimiter`, `quote` and `escape` must be different characters"
            raise ValueError(message)
        if self.encoding and not _is_encoding(self.encoding):
            message = f"`encoding` is {self.encoding!r}, which Python does not know"
            raise ValueError(message)


DEFAULT_DIALECT = Dialect()
"""The dialect that is detected in each file."""
