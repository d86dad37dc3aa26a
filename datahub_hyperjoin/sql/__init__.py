"""Write the SQL of joins, and run it on the data, so that people see SQL that works."""

from datahub_hyperjoin.sql.duckdb_engine import FileAddresses
from datahub_hyperjoin.sql.find import LakeInSql
from datahub_hyperjoin.sql.run import SqlTest, find_join_sql, run_joins

__all__ = ["FileAddresses", "LakeInSql", "SqlTest", "find_join_sql", "run_joins"]
