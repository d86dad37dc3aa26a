"""Define the errors of lakes whose joins were read by a person."""

from typing_extensions import Self

from datahub_hyperjoin.evaluate.errors import EvaluationError


class ChangedLakeError(EvaluationError, ValueError):
    """The tables of a lake are not those whose joins were read."""

    @classmethod
    def hashed(cls, lake: str, found: str, expected: str) -> Self:
        """Report that the hash of a lake differs from that on the list."""
        return cls(
            f"{lake}: the hash of its tables is {found}, not {expected}. "
            "Correct its commit or path in lakes.csv"
        )
