"""Describe columns in questions to a language model."""

from dataclasses import dataclass

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm.prompt import truncate

_SIBLINGS = 40
"""Maximum number of the table's column names in a question; a table may have thousands."""
_CELLS = 5
"""Maximum number of the column's values in a question; the paper samples three to five rows."""
_NAME_LENGTH, _CELL_LENGTH = 120, 60


@dataclass(frozen=True)
class ColumnInWords:
    """A column as questions to a language model describe it."""

    folder: str
    table: str
    columns: tuple[str, ...]
    """The names of the table's columns."""

    column: str
    values: tuple[str, ...]
    """A few values; empty if they are personal or the recipe forbids sending them."""

    @classmethod
    def from_lake(cls, lake: Lake, column: int, *, send_values: bool) -> "ColumnInWords":
        """Describe a column."""
        table = lake.table_of[column]
        profile = lake.profiles[column]
        names = [lake.profiles[index].id.path for index in lake.columns_of[table][:_SIBLINGS]]
        owner = profile.id.table
        cells = profile.sample[:_CELLS] if send_values and not profile.personal else ()
        return cls(
            folder=truncate(owner.parent.rpartition("/")[2], _NAME_LENGTH),
            table=truncate(lake.titles[table], _NAME_LENGTH),
            columns=tuple(truncate(name, _NAME_LENGTH) for name in names),
            column=truncate(profile.id.path, _NAME_LENGTH),
            values=tuple(truncate(cell, _CELL_LENGTH) for cell in cells),
        )
