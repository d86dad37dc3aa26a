"""Errors in the input of an evaluation, raised before any method runs.

HyperJoinError
└─ EvaluationError
   ├─ LabelledLakeError   a folder is not a usable labelled lake
   └─ SettingError        a setting is malformed or not allowed
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError


class EvaluationError(HyperJoinError):
    """The evaluation cannot run."""


class LabelledLakeError(EvaluationError, ValueError):
    """A folder cannot be used as a labelled lake."""

    @classmethod
    def missing(cls, path: str) -> Self:
        return cls(
            f"{path} is missing. A labelled lake is a folder with tables/*.csv, queries.csv and "
            "ground_truth.csv"
        )

    @classmethod
    def unreadable(cls, path: str, *, reason: str) -> Self:
        return cls(f"{path} cannot be read: {reason}. Write it as CSV in UTF-8")

    @classmethod
    def without(cls, path: str, *, columns: Sequence[str], header: Sequence[str]) -> Self:
        return cls(
            f"{path} has no column {', '.join(columns)}: its header is {','.join(header)!r}. "
            "Add the missing columns"
        )

    @classmethod
    def ragged(cls, path: str, line: int) -> Self:
        return cls(
            f"{path} line {line} has more or fewer fields than the header. Quote the fields that "
            "contain commas"
        )

    @classmethod
    def repeated(cls, path: str, line: int, *, query: str) -> Self:
        return cls(f"{path} line {line} repeats the query column {query}. Remove the line")

    @classmethod
    def unasked(cls, path: str, line: int, *, query: str) -> Self:
        return cls(
            f"{path} line {line} has a join of {query}, which is not a query column. Add it to "
            "queries.csv, or remove the line"
        )

    @classmethod
    def unknown(cls, path: str, line: int, *, table: str, column: str) -> Self:
        return cls(
            f"{path} line {line} names the column {column!r} of the table {table!r}, which the "
            "folder tables does not have. Correct the name; a table is named after its file, "
            "without .csv"
        )

    @classmethod
    def within(cls, path: str, line: int, *, query: str) -> Self:
        return cls(
            f"{path} line {line} joins {query} with its own table, which no method considers. "
            "Remove the line"
        )

    @classmethod
    def unanswered(cls, path: str, line: int, *, query: str) -> Self:
        return cls(
            f"{path} line {line} lists the query column {query}, which has no join in "
            "ground_truth.csv. Add its joins, or remove the line"
        )

    @classmethod
    def empty(cls, path: str) -> Self:
        return cls(f"{path} lists no query column. Add lines with a table and a column")

    @classmethod
    def homonyms(cls, name: str) -> Self:
        return cls(f"two folders are called {name!r}. Rename one of them")


class SettingError(EvaluationError, ValueError):
    """A setting of an evaluation is malformed or not allowed."""

    @classmethod
    def because(cls, key: str, reason: str) -> Self:
        return cls(f"`{key}` cannot be set: {reason}. Use the keys of a recipe's `source.config`")

    @classmethod
    def shapeless(cls, text: str) -> Self:
        return cls(f"{text!r} is not a setting. Write KEY=VALUE, as in model.network.width=256")
