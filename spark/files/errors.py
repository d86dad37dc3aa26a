"""Errors for files that can be read but hold no table.

UnreadableTableError
└─ NoTableInJsonError
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.wording import name_some


class NoTableInJsonError(UnreadableTableError):
    """A JSON file holds no table."""

    @classmethod
    def at_all(cls) -> Self:
        """Report a file that holds something else than JSON."""
        return cls.because("it holds no JSON")

    @classmethod
    def but_values(cls) -> Self:
        """Report an array whose elements are not rows."""
        return cls.because("most elements of its array are not JSON objects")

    @classmethod
    def but_object(cls) -> Self:
        """Report a file with one object that is not made of columns or rows."""
        return cls("holds one JSON object, which is no table. Write rows as an array of objects")

    @classmethod
    def but_several(cls, names: Sequence[str]) -> Self:
        """Report an object with several arrays of rows."""
        listed = name_some([*map(repr, names)])
        return cls.because(f"it holds several arrays, {listed}, which are a table each")

    @classmethod
    def but_metadata(cls) -> Self:
        """Report a file that DataHub wrote, which is no data of the lake."""
        return cls("holds metadata that DataHub's `file` sink wrote. Keep it in another folder")

    @classmethod
    def beyond_size(cls, most: int) -> Self:
        """Report a value that is too long to be parsed at once."""
        return cls(
            f"cannot be read: a value in it is longer than {most:,} characters. Write its rows as "
            "JSON Lines"
        )

    @classmethod
    def cut_off(cls) -> Self:
        """Report JSON that ends too early."""
        return cls.because("its JSON ends in the middle of a value")

    @classmethod
    def invalid(cls, message: str) -> Self:
        """Report the parser's message about invalid JSON, which contains no values."""
        return cls.because(f"its JSON is invalid: {message}")
