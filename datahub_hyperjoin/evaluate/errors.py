"""What can be wrong with an evaluation, nearly all of it before anything is measured.

HyperJoinError
├─ ModelError
│  └─ NoPairsError          a rival has nothing to learn from; the others go on
└─ EvaluationError
   ├─ SuiteError            a benchmark's folder cannot be used
   ├─ CutError              a benchmark cannot be cut to a size
   ├─ SettingError          a setting is none of a recipe
   ├─ UnknownVariantError   a name means no variant
   ├─ UnknownRivalError     a name means no rival
   ├─ MissingRivalError     what a rival needs is not installed
   └─ MissingPlotterError   what draws pictures is not installed
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError, ModelError


class EvaluationError(HyperJoinError):
    """Nothing can be measured."""


class SuiteError(EvaluationError, ValueError):
    """A benchmark's folder cannot be used."""

    @classmethod
    def missing(cls, path: str) -> Self:
        """A file or folder that every benchmark has."""
        return cls(
            f"{path} is missing. A benchmark's folder has tables/*.csv, queries.csv and "
            "ground_truth.csv"
        )

    @classmethod
    def unreadable(cls, path: str, *, reason: str) -> Self:
        """A file is no CSV, in the reader's words."""
        return cls(f"{path} cannot be read: {reason}. Write it as CSV in UTF-8")

    @classmethod
    def without(cls, path: str, *, columns: Sequence[str], header: Sequence[str]) -> Self:
        """A file's header lacks columns."""
        return cls(
            f"{path} has no column {', '.join(columns)}: its header is {','.join(header)!r}. "
            "Add what is missing"
        )

    @classmethod
    def ragged(cls, path: str, line: int) -> Self:
        """A row does not fit the header."""
        return cls(
            f"{path} line {line} has another number of fields than the header. Quote fields that "
            "hold commas"
        )

    @classmethod
    def repeated(cls, path: str, line: int, *, query: str) -> Self:
        """A query is asked twice."""
        return cls(f"{path} line {line} repeats the query {query}. Remove one of the lines")

    @classmethod
    def unasked(cls, path: str, line: int, *, query: str) -> Self:
        """The truth answers what nobody asks."""
        return cls(f"{path} line {line} answers {query}, which is no query. Add it to queries.csv")

    @classmethod
    def unknown(cls, path: str, line: int, *, table: str, column: str) -> Self:
        """A line names what no table has."""
        return cls(
            f"{path} line {line} names a column {column!r} of a table {table!r}, and the folder "
            "tables has none. Correct the name: a table's is its file's, without .csv"
        )

    @classmethod
    def within(cls, path: str, line: int, *, query: str) -> Self:
        """An answer stands in the query's own table, where no method looks."""
        return cls(f"{path} line {line} answers {query} by its own table. Remove the line")

    @classmethod
    def unanswered(cls, path: str, line: int, *, query: str) -> Self:
        """No ranking of a query could be right."""
        return cls(
            f"{path} line {line} asks for {query}, to which ground_truth.csv has no answer. "
            "Remove the query, or add its answers"
        )

    @classmethod
    def empty(cls, path: str) -> Self:
        """Nothing is asked."""
        return cls(f"{path} has no query. Add one a line: the table, the column")

    @classmethod
    def homonyms(cls, name: str) -> Self:
        """Two benchmarks would be reported as one."""
        return cls(f"two folders are called {name!r}. Rename one of them: the report goes by names")


class CutError(EvaluationError, ValueError):
    """A benchmark cannot be cut to a size."""

    @classmethod
    def beyond(cls, size: int, *, name: str, tables: int) -> Self:
        """More tables than there are."""
        return cls(f"{name} cannot be cut to {size} tables: it has {tables}. Give no more")

    @classmethod
    def without_query(cls, size: int) -> Self:
        """No room for a query and its answer."""
        return cls(
            f"a lake of {size} tables asks nothing: a query and its answer stand in two. Give at "
            "least 2"
        )


class SettingError(EvaluationError, ValueError):
    """A setting is none of a recipe."""

    @classmethod
    def because(cls, key: str, reason: str) -> Self:
        """The recipe's key, and what is wrong with it."""
        return cls(f"`{key}` cannot be set: {reason}. See the keys of a recipe's `source.config`")

    @classmethod
    def shapeless(cls, text: str) -> Self:
        """What was typed has no key and value."""
        return cls(f"{text!r} is no setting. Write KEY=VALUE, as in model.network.width=256")


class UnknownVariantError(EvaluationError, LookupError):
    """A name means no variant."""

    @classmethod
    def named(cls, name: str, known: Sequence[str]) -> Self:
        """The name, and those there are."""
        return cls(f"there is no variant {name!r}. Choose from {', '.join(map(repr, known))}")


class UnknownRivalError(EvaluationError, LookupError):
    """A name means no rival."""

    @classmethod
    def named(cls, name: str, known: Sequence[str]) -> Self:
        """The name, and those there are."""
        return cls(f"there is no rival {name!r}. Choose from {', '.join(map(repr, known))}")


class MissingRivalError(EvaluationError, ImportError):
    """What a rival needs is not installed."""

    @classmethod
    def without(cls, library: str, *, rival: str) -> Self:
        """The library, who needs it, and how to install it or do without."""
        return cls(
            f"{library}, which the rival {rival!r} needs, is not installed. Run `pip install "
            "'datahub-hyperjoin[evaluate]'`, or name other rivals by --rival"
        )


class MissingPlotterError(EvaluationError, ImportError):
    """What draws pictures is not installed."""

    @classmethod
    def to_draw(cls) -> Self:
        """How to install it, and how to do without."""
        return cls(
            "matplotlib, which draws the pictures of --out, is not installed. Run `pip install "
            "'datahub-hyperjoin[evaluate]'`, or leave --out away"
        )


class NoPairsError(ModelError, ValueError):
    """A rival has nothing to learn from."""

    @classmethod
    def sharing_less_than(cls, containment: float, values: int) -> Self:
        """No column joins exactly with one of another table."""
        return cls(
            f"no column holds {containment:.0%} of another table's column of at least {values} "
            "values, so that there is no pair to learn from. Give tables that share more"
        )

    @classmethod
    def of_short_columns(cls, values: int) -> Self:
        """No column can be split into parts that join."""
        return cls(
            f"no column has {values} different values to be split, so that there is no pair to "
            "learn from. Give longer tables"
        )

    @classmethod
    def of_narrow_tables(cls) -> Self:
        """No table can be split into two that differ."""
        return cls(
            "no table has two columns, so that there is nothing to tell apart and to learn from. "
            "Give wider tables"
        )
