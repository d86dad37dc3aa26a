"""Run the SQL of joins on the data, so that people see only SQL that works."""

from datahub_hyperjoin.sql.find import LakeInSql
from datahub_hyperjoin.sql.run import run_joins
from datahub_hyperjoin.sql.stage import find_join_sql

__all__ = ["LakeInSql", "find_join_sql", "run_joins"]
