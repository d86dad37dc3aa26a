"""Types of numbers in recipes, each with a minimum and a maximum.

The limits reject typing errors, which would otherwise fail after hours or use up the memory. They
are far beyond every use.
"""

from typing import Annotated

from annotated_types import Interval, MultipleOf
from pydantic import BeforeValidator


def _refuse_truth_values(value: object) -> object:
    # Pydantic takes true for 1, so `max_rows: yes` would read one row.
    if isinstance(value, bool):
        message = "Input should be a number, not true or false"
        raise ValueError(message)  # noqa: TRY004 - pydantic reports only this as an invalid value
    return value


_NUMBER = BeforeValidator(_refuse_truth_values)

Share = Annotated[float, Interval(ge=0, le=1), _NUMBER]
Weight = Annotated[float, Interval(ge=0, le=1_000), _NUMBER]
Rate = Annotated[float, Interval(gt=0, le=1), _NUMBER]
Price = Annotated[float, Interval(ge=0, le=1_000_000), _NUMBER]
MaxCost = Annotated[float, Interval(gt=0, le=1_000_000), _NUMBER]
Seconds = Annotated[float, Interval(gt=0, le=7 * 24 * 3_600), _NUMBER]

SecondsFromOne = Annotated[float, Interval(ge=1, le=7 * 24 * 3_600), _NUMBER]
"""A time limit of at least one second, for databases to which a limit of zero means no limit."""

Seed = Annotated[int, Interval(ge=0, lt=1 << 32), _NUMBER]
"""Seed of random numbers, as NumPy and torch take it."""

Width = Annotated[int, Interval(ge=8, le=8_192), MultipleOf(8), _NUMBER]
"""Length of an embedding, a multiple of 8 so that attention heads can divide it."""

FewAtOnce = Annotated[int, Interval(ge=1, le=1_000), _NUMBER]
"""A small limit, for example on simultaneous connections or on the columns of a key."""

PerColumn = Annotated[int, Interval(ge=1, le=1_000_000), _NUMBER]
"""Number of things kept or computed for each column."""

Amount = Annotated[int, Interval(ge=1, le=1_000_000_000), _NUMBER]
"""Number of things in a run or a table, except rows and bytes."""

AmountOrZero = Annotated[int, Interval(ge=0, le=1_000_000_000), _NUMBER]
"""Number of things in a run or a table, except rows and bytes; zero is allowed."""

Mebibytes = Annotated[int, Interval(ge=1, le=1 << 30), _NUMBER]
"""An amount of memory in MiB."""

Large = Annotated[int, Interval(ge=1, le=1 << 53), _NUMBER]
"""Number of rows, bytes or tokens."""
