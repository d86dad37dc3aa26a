"""Fetch the rows of a result that is in memory, as DB-API's cursors do."""

from collections.abc import Sequence


class BufferedCursor:
    """A cursor over rows that its subclass has received."""

    def __init__(self) -> None:
        self._rows: Sequence[tuple[object, ...]] = []
        self.description: list[tuple[object, ...]] | None = None

    def fetchall(self) -> Sequence[tuple[object, ...]]:
        return self.fetchmany(len(self._rows))

    def fetchmany(self, size: int = 1) -> Sequence[tuple[object, ...]]:
        taken, self._rows = self._rows[:size], self._rows[size:]
        return taken

    def fetchone(self) -> tuple[object, ...] | None:
        [*taken] = self.fetchmany()
        return taken[0] if taken else None
