"""Errors of the server of a local page."""

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError


class NoPageError(HyperJoinError, ValueError):
    """A file cannot be read, or is not a page of joins that people can accept or reject."""

    @classmethod
    def unread(cls, file: str, reason: str) -> Self:
        return cls(f"{file} cannot be read: {reason}. Correct the path")

    @classmethod
    def without_joins(cls, file: str) -> Self:
        return cls(
            f"{file} is no page of joins, or has none. Write one with `hyperjoin find FOLDER "
            "--page joins.html`, or with `page` in a recipe"
        )


class PortInUseError(HyperJoinError, OSError):
    """The port for the server of a local page is in use or forbidden."""

    @classmethod
    def numbered(cls, port: int, reason: str) -> Self:
        return cls(f"port {port} cannot be used: {reason}. Choose another one with `--port`")


class StaleDecisionError(HyperJoinError):
    """Another decision about a join was made since the person's page was loaded."""

    def __init__(self, message: str, *, decision: str = "", by: str = "") -> None:
        """Store the message, the other decision, and who made it."""
        super().__init__(message)
        self.decision = decision
        self.by = by

    @classmethod
    def about(cls, join: str, decision: str, by: str) -> Self:
        did = f"{decision} {join}" if decision else f"undid the decision about {join}"
        return cls(
            f"{by or 'somebody'} {did} since this page was loaded. Decide again if your decision "
            "should replace that",
            decision=decision,
            by=by,
        )
