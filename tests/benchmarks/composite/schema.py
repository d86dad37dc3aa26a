"""Define a generated schema: its tables and its composite foreign keys."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

Random = np.random.Generator


@dataclass(frozen=True)
class Declared:
    """A declared foreign key of several columns."""

    table: str
    columns: tuple[str, ...]
    referenced_table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """The tables of a schema, with their rows, and its composite foreign keys."""

    tables: Mapping[str, pd.DataFrame]
    keys: tuple[Declared, ...]


def draw_rows(random: Random, frame: pd.DataFrame, rows: int, *columns: str) -> pd.DataFrame:
    """Draw rows of a table at random, with repetition."""
    return frame.iloc[random.integers(0, len(frame), rows)][[*columns]].reset_index(drop=True)
