"""A generated schema: tables, and the composite foreign keys that it declares."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

Random = np.random.Generator


@dataclass(frozen=True)
class Declared:
    """A foreign key of several columns."""

    table: str
    columns: tuple[str, ...]
    referenced_table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """The rows of a schema's tables and its composite foreign keys."""

    tables: Mapping[str, pd.DataFrame]
    keys: tuple[Declared, ...]


def draw_rows(random: Random, frame: pd.DataFrame, rows: int, *columns: str) -> pd.DataFrame:
    """Draw rows with repetition, as rows of a referring table."""
    return frame.iloc[random.integers(0, len(frame), rows)][[*columns]].reset_index(drop=True)
