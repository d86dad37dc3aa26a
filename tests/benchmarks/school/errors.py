"""Define the errors that occur while labelled lakes for training are made.

HyperJoinError
└─ EvaluationError
   └─ SourceError          a source cannot be used
      ├─ ForbiddenSourceError   the source judges methods elsewhere
      └─ UnreadableSourceError  the source holds no database that can be read
"""

from typing_extensions import Self

from datahub_hyperjoin.evaluate.errors import EvaluationError


class SourceError(EvaluationError, ValueError):
    """A source on the list of sources cannot be used."""

    @classmethod
    def unknown_value(cls, source: str, key: str, value: str, known: str) -> Self:
        """Report that a row in the list of sources has an unknown value for a key."""
        return cls(f"{source}: {key} is {value!r}. Use one of: {known}")

    @classmethod
    def not_fetched(cls, source: str, commit: str, reason: str) -> Self:
        """Report that the repository could not be cloned."""
        return cls(
            f"{source} could not be fetched at {commit}: {reason}. "
            "Check the network, or give a folder that holds it with --mirror"
        )

    @classmethod
    def in_both(cls, author: str) -> Self:
        """Report that sources of one author are listed for both training and validation."""
        return cls(f"{author} is in both splits. Give all sources of an author the same split")

    @classmethod
    def too_few(cls, kind: str) -> Self:
        """Report that the sources yield no joins for a lake of the requested kind."""
        return cls(f"no lake of {kind} can be made of the sources. Add more of them to the list")


class ForbiddenSourceError(SourceError):
    """A source must not be used for training, because benchmarks use it."""

    @classmethod
    def named(cls, source: str, word: str) -> Self:
        """Report that the name of the source contains a forbidden word."""
        return cls(
            f"{source} must not be trained on: its name holds {word!r}, which names a source of "
            "the lakes that judge. Remove it from the list of sources"
        )

    @classmethod
    def copied(cls, source: str, what: str) -> Self:
        """Report that tables of the source are tables of a lake that judges."""
        return cls(
            f"{source} must not be trained on: the lakes that judge have {what} of it. "
            "Remove it from the list of sources"
        )


class UnreadableSourceError(SourceError):
    """A source contains no readable database."""

    @classmethod
    def without_references(cls, source: str) -> Self:
        """Report that a source declares no reference between two readable tables."""
        return cls(f"{source} has no declared reference between two tables that could be read")

    @classmethod
    def too_small(cls, source: str, tables: int, keys: int) -> Self:
        """Report that a source teaches too little about references."""
        return cls(
            f"{source} has {tables} tables and {keys} declared keys that could be read. "
            "Remove it from the list of sources"
        )

    @classmethod
    def without_file(cls, source: str, pattern: str) -> Self:
        """Report that no file of the repository matches the pattern in the list."""
        return cls(f"{source} has no file {pattern}. Correct its path in the list of sources")
