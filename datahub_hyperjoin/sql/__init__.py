"""Write the SQL of joins, and run it on the data, so that people see SQL that works."""

from datahub_hyperjoin.sql.find import LakeInSql
from datahub_hyperjoin.sql.local_files import FileAddresses
from datahub_hyperjoin.sql.run import SqlTest, run_joins
from datahub_hyperjoin.sql.stage import find_join_sql

__all__ = ["FileAddresses", "LakeInSql", "SqlTest", "find_join_sql", "run_joins"]
