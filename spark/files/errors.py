"""Errors for JSON files without a table, and for fixed-width files without a schema.

UnreadableTableError
├─ NoTableInJsonError
└─ WidthSchemaError
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.wording import name_some


class NoTableInJsonError(UnreadableTableError):
    """A JSON file contains no table."""

    @classmethod
    def at_all(cls) -> Self:
        """Report that a file contains no JSON."""
        return cls.because("it holds no JSON")

    @classmethod
    def but_values(cls) -> Self:
        """Report that most elements of an array are not JSON objects."""
        return cls.because("most elements of its array are not JSON objects")

    @classmethod
    def but_object(cls) -> Self:
        """Report that a file contains a single JSON object, which is not a table."""
        return cls("holds one JSON object, which is no table. Write rows as an array of objects")

    @classmethod
    def but_several(cls, names: Sequence[str]) -> Self:
        """Report that a JSON object contains several arrays of rows instead of one."""
        listed = name_some([*map(repr, names)])
        return cls.because(f"it holds several arrays, {listed}, which are a table each")

    @classmethod
    def but_metadata(cls) -> Self:
        """Report that a file contains DataHub metadata instead of data."""
        return cls("holds metadata that DataHub's `file` sink wrote. Keep it in another folder")

    @classmethod
    def beyond_size(cls, most: int) -> Self:
        """Report that a JSON value is too long to parse."""
        return cls(
            f"cannot be read: a value in it is longer than {most:,} characters. Write its rows as "
            "JSON Lines"
        )

    @classmethod
    def cut_off(cls) -> Self:
        """Report that the JSON of a file ends too early."""
        return cls.because("its JSON ends in the middle of a value")

    @classmethod
    def invalid(cls, message: str) -> Self:
        """Report the parser's message about invalid JSON."""
        return cls.because(f"its JSON is invalid: {message}")


class WidthSchemaError(UnreadableTableError):
    """A fixed-width file has no usable schema file, so its columns cannot be located."""

    @classmethod
    def missing(cls, schema: str) -> Self:
        """Report that a fixed-width file has no schema file next to it."""
        return cls(
            f"has columns of fixed widths at unknown places. Write {schema} beside it, a CSV file "
            "with the columns `column`, `start` and `length`"
        )

    @classmethod
    def malformed(cls, schema: str) -> Self:
        """Report that a schema file does not give the position of each column."""
        return cls(
            f"has columns of fixed widths, and {schema} does not give their places. Write it as "
            "CSV with the columns `column`, `start` and `length`: different names, and whole "
            "numbers"
        )
