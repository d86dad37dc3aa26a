"""Compare what databases count with what is read from them."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from datahub_hyperjoin.locations import Compute, Relation
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles import in_database
from datahub_hyperjoin.spark.profiles.in_database import CountedTable, count_in_database
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.tables import ColumnProfile, Table, TableProfile

MD5 = Md5ProfileConfig.of(ProfileConfig())


def relation_of(table: Table) -> Relation:
    assert isinstance(table.location, Relation)
    return table.location


def located(table: Table, **settings: object) -> Table:
    """Return a table whose database has other settings."""
    relation = relation_of(table)
    database = replace(relation.database, **settings)  # type: ignore[arg-type]
    return replace(table, location=replace(relation, database=database))


def profiled(table: Table, config: ProfileConfig = MD5) -> TableProfile:
    """Profile a table as its recipe says."""
    with Databases() as databases:
        return profile_table(table, config, databases)


def by_reading(table: Table, config: ProfileConfig = MD5) -> TableProfile:
    """Profile a table by reading its rows, even if the database could count them."""
    return replace(profiled(located(table, compute=Compute.SPARK), config), table=table)


def unread(table: Table, config: ProfileConfig) -> list[str]:
    """Return the columns that the database has not counted."""
    with Databases() as databases:
        counted = count_in_database(table, databases, config)
    return counted.unread if counted else ["all"]


def profiled_and_unread(table: Table, config: ProfileConfig) -> tuple[TableProfile, list[str]]:
    """Profile a table, and also return the columns that the database has not counted.

    A stand-in for a database takes a second to count a column, so it counts once.
    """
    missing = ["all"]

    def count(*given: Any) -> CountedTable | None:  # noqa: ANN401 (what the function takes)
        counted = count_in_database(*given)
        if counted:
            missing[:] = counted.unread
        return counted

    with patch.object(in_database, "count_in_database", count):
        return profiled(table, config), missing


def in_normal_form(column: ColumnProfile) -> ColumnProfile:
    """Normalise a profile, so that it does not depend on how values are spelled."""
    sample = tuple(map(normal_form, column.sample))
    lengths = replace(column.lengths, mean=0.0)
    markers = tuple(map(normal_form, column.markers))
    return replace(column, sample=sample, markers=markers, lengths=lengths, patterns=())
