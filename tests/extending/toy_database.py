"""A database system that another package could add: SQLite under a name of its own."""

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.types import LargeBinary

from datahub_hyperjoin.spark.databases.system import DatabaseSystem


class ToyDialect(SQLiteDialect_pysqlite):
    """What SQLAlchemy knows of the system."""

    name = "toy"
    supports_statement_cache = True
    ischema_names = {**SQLiteDialect_pysqlite.ischema_names, "BITS": LargeBinary}  # noqa: RUF012


class Toy(DatabaseSystem):
    """What this package must know of it besides."""

    name = "toy"
    platform = "toybox"
    table_names = "{database}.{table}"
    is_file = True
    names_without_recipe = "{table}"
    sizes = "SELECT 'main', name, 4096 FROM sqlite_master"
    hex_digits = "lower(hex({0}))"
