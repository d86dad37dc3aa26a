"""Why the server does not do what it is asked."""


class Refused(Exception):  # noqa: N818 - a refusal is an answer of the server, not its fault
    """An answer other than success."""

    def __init__(self, status: int, message: str) -> None:
        """Keep what is answered."""
        super().__init__(message)
        self.status = status
        self.message = message


class Invalid(Refused):
    """The proposal was understood, and is against the rules."""

    def __init__(self, message: str) -> None:
        """Answer as the server's validators do."""
        super().__init__(422, message)


class Malformed(Refused):
    """The request makes no sense to this server."""

    def __init__(self, message: str) -> None:
        """Answer as to a bad argument."""
        super().__init__(400, message)


class Dropped(Exception):  # noqa: N818 - asked for by the client, and no failure
    """A write whose precondition does not hold, and which asked to be dropped in that case."""
