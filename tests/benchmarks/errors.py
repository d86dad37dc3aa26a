"""Define the errors of the benchmarks.

HyperJoinError
├─ ModelError
│  └─ NoPairsError          a rival finds no training pairs; the other methods continue
└─ EvaluationError
   ├─ CutError              a lake cannot be cut to a size
   ├─ UnknownVariantError   there is no variant of this name
   ├─ UnknownRivalError     there is no rival of this name
   ├─ MissingRivalError     a rival's library is not installed
   └─ MissingPlotterError   matplotlib is not installed
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import ModelError
from datahub_hyperjoin.evaluate.errors import EvaluationError


class CutError(EvaluationError, ValueError):
    """A lake cannot be reduced to a requested size."""

    @classmethod
    def beyond(cls, size: int, *, name: str, tables: int) -> Self:
        """Report that the requested size is greater than the number of tables."""
        return cls(f"{name} cannot be cut to {size} tables: it has {tables}. Use a smaller size")

    @classmethod
    def without_query(cls, size: int) -> Self:
        """Report that the requested size is too small for two joining columns."""
        return cls(
            f"a lake of {size} tables has no query: a query column and its join need two tables. "
            "Use at least 2"
        )


class UnknownVariantError(EvaluationError, LookupError):
    """A requested variant does not exist."""

    @classmethod
    def named(cls, name: str, known: Sequence[str]) -> Self:
        """Report that the variant's name is unknown."""
        return cls(f"there is no variant {name!r}. Choose from {', '.join(map(repr, known))}")


class UnknownRivalError(EvaluationError, LookupError):
    """A requested rival method does not exist."""

    @classmethod
    def named(cls, name: str, known: Sequence[str]) -> Self:
        """Report that the rival's name is unknown."""
        return cls(f"there is no rival {name!r}. Choose from {', '.join(map(repr, known))}")


class MissingRivalError(EvaluationError, ImportError):
    """The library of a rival method is not installed."""

    @classmethod
    def without(cls, library: str, *, rival: str) -> Self:
        """Report that a library that the rival needs is not installed."""
        return cls(
            f"{library}, which the rival {rival!r} needs, is not installed. Run `make setup`, or "
            "choose other rivals with --rival"
        )


class MissingPlotterError(EvaluationError, ImportError):
    """matplotlib is not installed."""

    @classmethod
    def to_draw(cls) -> Self:
        """Report that the pictures cannot be drawn without matplotlib."""
        return cls(
            "matplotlib, which draws the pictures of --out, is not installed. Run `make setup`, or "
            "omit --out"
        )


class NoPairsError(ModelError, ValueError):
    """A rival method finds no training pairs in a lake."""

    @classmethod
    def sharing_less_than(cls, containment: float, values: int) -> Self:
        """Report that no column contains enough values of a column in another table."""
        return cls(
            f"no column contains {containment:.0%} of another table's column of at least {values} "
            "values, so there is no pair to learn from. Use tables that share more values"
        )

    @classmethod
    def of_short_columns(cls, values: int) -> Self:
        """Report that no column has enough values to be split."""
        return cls(
            f"no column has {values} distinct values to split, so there is no pair to learn from. "
            "Use longer tables"
        )

    @classmethod
    def of_narrow_tables(cls) -> Self:
        """Report that no table has enough columns to be split."""
        return cls("no table has two columns, so there is no pair to learn from. Use wider tables")
