"""What is asked of one key column."""

import hashlib
import json
from dataclasses import dataclass

from datahub_hyperjoin.model.lake import Lake

_VERSION = 1
"""Raised when what is asked changes, so that older answers are not taken for new ones."""
_SIBLINGS = 40
"""Column names of a table that are sent; a table may have thousands."""
_CELLS = 5
"""Values of a column that are sent, as the paper samples three to five rows."""
_NAME_LENGTH, _CELL_LENGTH = 120, 60


@dataclass(frozen=True)
class Question:
    """A key column with what the language model is told of it."""

    table: str
    """The table's title."""

    columns: tuple[str, ...]
    """Names of the table's columns."""

    column: str
    """The key column's name."""

    cells: tuple[str, ...]
    """A few of its values; none unless they may leave."""

    @classmethod
    def from_lake(cls, lake: Lake, column: int, *, send_values: bool) -> "Question":
        """Takes what may be told of a column, cut to a bounded length.

        Args:
            lake: The columns.
            column: Which one is asked about.
            send_values: Whether its values may leave.

        Returns:
            The question.
        """
        table = lake.table_of[column]
        profile = lake.profiles[column]
        names = [lake.profiles[place].id.path for place in lake.columns_of[table][:_SIBLINGS]]
        cells = profile.sample[:_CELLS] if send_values else ()
        return cls(
            table=_shorten(lake.titles[table], _NAME_LENGTH),
            columns=tuple(_shorten(name, _NAME_LENGTH) for name in names),
            column=_shorten(profile.id.path, _NAME_LENGTH),
            cells=tuple(_shorten(cell, _CELL_LENGTH) for cell in cells),
        )

    def key(self, model: str) -> str:
        """Tells questions apart.

        Args:
            model: The language model's name.

        Returns:
            64 hexadecimal digits, the same for the same question to the same model.
        """
        asked = [_VERSION, model, self.table, self.columns, self.column, self.cells]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def _shorten(text: str, length: int) -> str:
    """The beginning of a text, without half characters that could not be sent."""
    return text[:length].encode("utf-8", "replace").decode()
