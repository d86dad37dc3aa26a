"""Recognise tables that were written again with the same content, as runs do."""

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.known_contents import KnownContents
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.tables import Table, TableProfile


def recognise_and_keep(config: ProfileConfig, tables: list[Table]) -> tuple[list[str], int]:
    """Recognise and keep tables, and return their states and how many were written again."""
    contents = KnownContents(Store(config))
    found = contents.recognise(tables)
    contents.keep([TableProfile(table=table) for table in found])
    return [table.state for table in found], contents.written_again
