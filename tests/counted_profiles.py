"""Compare what databases count with what is read from them."""

from dataclasses import replace

from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.in_database import count_in_database
from datahub_hyperjoin.tables import ColumnProfile, Table


def unread(table: Table, config: ProfileConfig) -> list[str]:
    """Return the columns that the database has not counted."""
    with Databases() as databases:
        counted = count_in_database(table, databases, config)
    return counted.unread if counted else ["all"]


def in_normal_form(column: ColumnProfile) -> ColumnProfile:
    """Normalise a profile, so that it does not depend on how values are spelled."""
    sample = tuple(map(normal_form, column.sample))
    lengths = replace(column.lengths, mean=0.0)
    return replace(column, sample=sample, lengths=lengths, patterns=())
