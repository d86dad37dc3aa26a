"""Define the errors with which the server responds."""


class Refused(Exception):  # noqa: N818 - a refusal is an answer of the server, not its fault
    """An error response of the server."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Invalid(Refused):
    """A proposal in a well-formed request breaks a rule."""

    def __init__(self, message: str) -> None:
        """Respond with status 422, as the server's validators do."""
        super().__init__(422, message)


class Malformed(Refused):
    """The server cannot interpret a request."""

    def __init__(self, message: str) -> None:
        """Respond with status 400."""
        super().__init__(400, message)


class Dropped(Exception):  # noqa: N818 - asked for by the client, and no failure
    """The condition of a conditional write does not hold, so the write is skipped."""
