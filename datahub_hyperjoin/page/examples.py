"""Choose the example values that the page shows if the recipe allows it."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.normal_form import hash_values, normal_form
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Pair, TableProfile, ValueHash

_MOST = 5
_LONGEST = 40


def list_examples(
    joins: Iterable[Join],
    profiles: Mapping[ColumnId, ColumnProfile],
    indices: Mapping[ColumnId, int],
) -> dict[int, tuple[str, ...]]:
    """Map each joined column's index on the page to a few example values."""
    # A personal column has none. Neither has a column that joins with one, because it holds the
    # same values.
    pairs = [pair for join in joins for pair in join.pairs]
    hidden = _hidden(pairs, profiles)
    return {
        indices[each]: () if each in hidden else tuple(map(_short, profiles[each].sample[:_MOST]))
        for each in sorted({column for pair in pairs for column in pair} & indices.keys())
    }


def list_unmatched(
    joins: Sequence[Join], tables: Iterable[TableProfile]
) -> dict[int, tuple[str, ...]]:
    """Map the number of each reference to a few values that have no partner."""
    # They are values of the referring column's sample whose hashes the key's sketch would hold if
    # the key had them. Those in most rows come first, such as a placeholder. Personal columns show
    # none.
    profiles = {column.id: (column, table) for table in tables for column in table.columns}
    columns = {id_: column for id_, (column, _) in profiles.items()}
    hidden = _hidden([pair for join in joins for pair in join.pairs], columns)
    found = {}
    for number, join in enumerate(joins):
        if not join.referring or not join.referenced or join.further or join.measured.compared_as:
            continue
        column, table = profiles[join.referring]
        if column.id not in hidden:
            values = _unmatched(column, columns[join.referenced], table.value_hash)
            found[number] = tuple(map(_short, values[:_MOST]))
    return {number: values for number, values in found.items() if values}


def _unmatched(column: ColumnProfile, key: ColumnProfile, value_hash: ValueHash) -> list[str]:
    """Return the values of a sample that the key does not have, the most frequent first."""
    known = np.frombuffer(key.sketch, "<u8")
    if not len(column.sample) or not len(known):
        return []
    hashes = hash_values(pa.array(map(normal_form, column.sample), pa.string()), value_hash)
    is_certain = (hashes <= known[-1]) | (not key.distinct_is_estimated)
    at = np.flatnonzero(is_certain & ~np.isin(hashes, known)).tolist()
    return [column.sample[place] for place in sorted(at, key=lambda place: -column.counts[place])]


def _hidden(pairs: Iterable[Pair], profiles: Mapping[ColumnId, ColumnProfile]) -> set[ColumnId]:
    """Return the columns that show no value: personal ones, and those that join with one."""
    return {
        column for pair in pairs if any(profiles[one].personal for one in pair) for column in pair
    }


def _short(value: str) -> str:
    text = " ".join(value.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
