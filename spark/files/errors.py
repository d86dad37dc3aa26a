"""Errors about formats of files, and for JSON without a table and text without a schema.

UnreadableTableError
├─ NoTableInJsonError
├─ UnknownFormatError
└─ WidthSchemaError
FormatPlugInError
"""

from collections.abc import Collection, Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.wording import name_some


class FormatPlugInError(HyperJoinError, ImportError):
    """An installed package adds a format that cannot be used."""

    @classmethod
    def because(cls, entry: str, reason: str) -> Self:
        return cls(
            f"the format plug-in {entry} cannot be loaded: {reason}. Repair or uninstall the "
            "package that adds it"
        )

    @classmethod
    def with_taken_names(cls, names: Collection[str]) -> Self:
        return cls(
            f"a format plug-in has the name of one of HyperJoin's own formats, "
            f"{name_some(sorted(names))}. Rename or uninstall it"
        )


class UnknownFormatError(UnreadableTableError):
    """A table has a format that no package here reads."""

    @classmethod
    def named(cls, name: str) -> Self:
        return cls(
            f"has the format {name!r}, which no package reads here. Install the package that adds "
            "it, also where Spark's workers run"
        )


class NoTableInJsonError(UnreadableTableError):
    """A JSON file contains no table."""

    @classmethod
    def at_all(cls) -> Self:
        return cls.because("it holds no JSON")

    @classmethod
    def but_values(cls) -> Self:
        return cls.because("most elements of its array are not JSON objects")

    @classmethod
    def but_object(cls) -> Self:
        return cls("holds one JSON object, which is no table. Write rows as an array of objects")

    @classmethod
    def but_several(cls, names: Sequence[str]) -> Self:
        listed = name_some([*map(repr, names)])
        return cls(f"cannot be read: it holds several tables, {listed}. Write each to its own file")

    @classmethod
    def but_metadata(cls) -> Self:
        return cls("holds metadata that DataHub's `file` sink wrote. Keep it in another folder")

    @classmethod
    def beyond_size(cls, most: int) -> Self:
        return cls(
            f"cannot be read: a value in it is longer than {most:,} characters. Write its rows as "
            "JSON Lines"
        )

    @classmethod
    def cut_off(cls) -> Self:
        return cls.because("its JSON ends in the middle of a value")

    @classmethod
    def invalid(cls, message: str) -> Self:
        return cls.because(f"its JSON is invalid: {message}")


class WidthSchemaError(UnreadableTableError):
    """A fixed-width file has no usable schema file, so its columns cannot be located."""

    @classmethod
    def missing(cls, schema: str) -> Self:
        return cls(
            f"has columns of fixed widths at unknown places. Write {schema} beside it, a CSV file "
            "with the columns `column`, `start` and `length`"
        )

    @classmethod
    def malformed(cls, schema: str) -> Self:
        return cls(
            f"has columns of fixed widths, and {schema} does not give their places. Write it as "
            "CSV with the columns `column`, `start` and `length`: different names, and whole "
            "numbers"
        )
