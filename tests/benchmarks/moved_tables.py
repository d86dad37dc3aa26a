"""Move the tables of a lake to other folders."""

from dataclasses import replace

from datahub_hyperjoin.tables import TableId, TableProfile


def move(profile: TableProfile, to: TableId) -> TableProfile:
    """Return a profile of a table, and of its columns, under another identifier.

    Args:
        profile: The table; its title stays.
        to: The new identifier.
    """
    columns = (replace(column, id=replace(column.id, table=to)) for column in profile.columns)
    return replace(profile, table=replace(profile.table, id=to), columns=tuple(columns))
