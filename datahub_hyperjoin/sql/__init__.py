"""Run the SQL of joins on the data, so that people see only SQL that works."""

from datahub_hyperjoin.sql.find import LakeInSql
from datahub_hyperjoin.sql.run import run_joins
from datahub_hyperjoin.sql.stage import state_joins

__all__ = ["LakeInSql", "run_joins", "state_joins"]
