"""Describe a key column to a language model."""

import hashlib
import json
from dataclasses import dataclass

from datahub_hyperjoin.model.lake import Lake

_VERSION = 1
"""Version of the questions. Increase it when they change, so that no older cached answer is used.
"""
_SIBLINGS = 40
"""Maximum number of the table's column names in a question; a table may have thousands."""
_CELLS = 5
"""Maximum number of the column's values in a question; the paper samples three to five rows."""
_NAME_LENGTH, _CELL_LENGTH = 120, 60


@dataclass(frozen=True)
class Question:
    """The description of a key column for which a language model suggests a name variant."""

    table: str
    """The table's title."""

    columns: tuple[str, ...]
    """Names of the table's columns."""

    column: str
    """The key column's name."""

    cells: tuple[str, ...]
    """A few values of the key column; empty if they are personal or the recipe forbids sending
    them."""

    @classmethod
    def from_lake(cls, lake: Lake, column: int, *, send_values: bool) -> "Question":
        """Build the question about a column.

        Long names and values are truncated.
        """
        table = lake.table_of[column]
        profile = lake.profiles[column]
        names = [lake.profiles[index].id.path for index in lake.columns_of[table][:_SIBLINGS]]
        cells = profile.sample[:_CELLS] if send_values and not profile.personal else ()
        return cls(
            table=_shorten(lake.titles[table], _NAME_LENGTH),
            columns=tuple(_shorten(name, _NAME_LENGTH) for name in names),
            column=_shorten(profile.id.path, _NAME_LENGTH),
            cells=tuple(_shorten(cell, _CELL_LENGTH) for cell in cells),
        )

    def key(self, model: str) -> str:
        """Return the cache key of this question.

        Returns:
            64 hexadecimal digits, the same for the same question to the same model.
        """
        content = [_VERSION, model, self.table, self.columns, self.column, self.cells]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _shorten(text: str, length: int) -> str:
    """Truncate a text, and replace characters that UTF-8 cannot encode.

    Such characters are unpaired surrogates.
    """
    return text[:length].encode("utf-8", "replace").decode()
