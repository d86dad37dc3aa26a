"""Choose the example values that the page shows if the recipe allows it."""

from collections.abc import Iterable, Mapping

from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.tables import ColumnId, ColumnProfile

_MOST = 5
_LONGEST = 40


def list_examples(
    joins: Iterable[Join],
    profiles: Mapping[ColumnId, ColumnProfile],
    indices: Mapping[ColumnId, int],
) -> dict[int, tuple[str, ...]]:
    """Map each joined column's index on the page to a few example values.

    A personal column has none. Neither has a column that joins with one, because it holds the same
    values.

    Args:
        joins: All joins, also those that the page leaves out.
        profiles: The profiles of their columns.
        indices: The index of each column that the page shows.

    Returns:
        Up to five values of each column, by its index. Columns that share values mostly have the
        same ones, since samples hold the values with the smallest hashes.
    """
    pairs = [pair for join in joins for pair in join.pairs]
    hidden = {
        column for pair in pairs if any(profiles[one].personal for one in pair) for column in pair
    }
    columns = sorted({column for pair in pairs for column in pair} & indices.keys())
    return {
        indices[each]: () if each in hidden else tuple(map(_short, profiles[each].sample[:_MOST]))
        for each in columns
    }


def _short(value: str) -> str:
    text = " ".join(value.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
