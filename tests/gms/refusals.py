"""Errors with which the server responds."""


class Refused(Exception):  # noqa: N818 - a refusal is an answer of the server, not its fault
    """An error response."""

    def __init__(self, status: int, message: str) -> None:
        """Store the response."""
        super().__init__(message)
        self.status = status
        self.message = message


class Invalid(Refused):
    """A valid request with a proposal that breaks a rule."""

    def __init__(self, message: str) -> None:
        """Respond as the server's validators do."""
        super().__init__(422, message)


class Malformed(Refused):
    """A request that the server does not understand."""

    def __init__(self, message: str) -> None:
        """Respond as to a bad argument."""
        super().__init__(400, message)


class Dropped(Exception):  # noqa: N818 - asked for by the client, and no failure
    """A conditional write whose condition does not hold, so that it is dropped."""
