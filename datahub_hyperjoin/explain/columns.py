"""Explain whether a column is a key column, and list its suggestions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from datahub_hyperjoin.explain.errors import UnknownColumnError
from datahub_hyperjoin.graphql.find import find_near
from datahub_hyperjoin.joins import Suggestion
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.signals.priors import find_obstacle
from datahub_hyperjoin.names import ends_in, split_column
from datahub_hyperjoin.suggest import LakeComparison
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, TableProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnExplanation:
    """The facts that a run found out about a column."""

    column: ColumnId
    """The column."""

    type: str
    """The type of the column's values."""

    rows: int
    """Number of rows read."""

    distinct: int
    """Number of distinct values."""

    distinct_is_estimated: bool
    """Whether `distinct` is an estimate, because the column has more values than a sketch holds."""

    uniqueness: float
    """Distinct values per row with a value, in [0, 1]."""

    completeness: float
    """Share of rows with a value, in [0, 1]."""

    is_key: bool
    """Whether the column is a key column."""

    obstacle: str
    """Why the column is not a key column; empty if it is one."""

    suggestions: tuple[Suggestion, ...]
    """The suggestions for the column, best first."""


def find_profile(name: str, profiles: Sequence[TableProfile]) -> ColumnProfile:
    """Find a column by the name that the user gave.

    Args:
        name: `table.column`, with the table's name or its title, with or without its folders.
        profiles: The tables.

    Returns:
        The column; of several, the one of which it is the whole name.

    Raises:
        UnknownColumnError: It fits no column, or several.
    """
    # Of a table that was not read, nothing but its header may be known.
    read = [table for table in profiles if not table.fault]
    columns = {str(column.id): column for table in read for column in table.columns}
    if name in columns:
        return columns[name]
    titles = {table.table.id: table.table.title for table in profiles}
    short = {full: f"{titles[one.id.table]}.{one.id.path}" for full, one in columns.items()}
    found = [full for full, title in short.items() if name == title or ends_in(full, name)]
    if len(found) == 1:
        return columns[found[0]]
    if found:
        raise UnknownColumnError.ambiguous(name, columns=sorted(found))
    for table, _ in split_column_name(name, [table for table in profiles if table.fault]):
        raise UnknownColumnError.of_unread_table(name, fault=table.fault)
    for table, column in split_column_name(name, read):
        paths = [each.id.path for each in table.columns]
        near = find_near(column, paths) or paths
        raise UnknownColumnError.of_table(column, str(table.table.id), near=near)
    full_names = {
        **{title: full for full, title in short.items()},
        **{full: full for full in columns},
    }
    near = [full_names[text] for text in get_close_matches(name, full_names, n=1)]
    raise UnknownColumnError.named(name, near=near)


def split_column_name(
    name: str, profiles: Sequence[TableProfile]
) -> Iterator[tuple[TableProfile, str]]:
    """Yield each table that matches the start of a name, together with the rest of the name.

    Args:
        name: `table.column`, as `find_profile` takes it.
        profiles: The tables.
    """
    for table, column in split_column(name):
        for profile in profiles:
            if table == profile.table.title or ends_in(str(profile.table.id), table):
                yield profile, column


def explain_column(
    profile: ColumnProfile, comparison: LakeComparison, config: ModelConfig
) -> ColumnExplanation:
    """Explain whether a column is a key column, and list its suggestions.

    Args:
        profile: The column.
        comparison: The results of a run.
        config: The method.
    """
    index = comparison.index
    number = index.lake.index_of.get(profile.id)
    uniqueness, completeness, is_key = profile.uniqueness, profile.completeness, False
    obstacle = f"its type is {profile.type.value}, and such values are not compared"
    if number is not None:
        # The catalog may have counted more rows.
        uniqueness = float(index.priors.uniqueness[number])
        completeness = float(index.priors.completeness[number])
        is_key = bool(np.isin(number, index.keys))
        obstacle = find_obstacle(
            profile,
            config.keys,
            standing=int(index.lake.standing[number]),
            uniqueness=uniqueness,
            completeness=completeness,
        )
    return ColumnExplanation(
        column=profile.id,
        type=profile.type_in_words,
        rows=profile.rows,
        distinct=profile.distinct,
        distinct_is_estimated=profile.distinct_is_estimated,
        uniqueness=uniqueness,
        completeness=completeness,
        is_key=is_key,
        # What the catalog declares to be a key is one, whatever its values are like.
        obstacle="" if is_key else obstacle,
        suggestions=tuple(
            each for each in comparison.findings.suggestions if each.query == profile.id
        ),
    )
