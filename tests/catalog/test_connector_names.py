"""Test that tables get the names that DataHub's connectors compute.

Most connectors import the driver of their database, which need not be installed. So the function
that names a table is taken out of the connector's source text, and runs alone.
"""

import ast
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import datahub.ingestion.source
import pytest
from datahub.ingestion.source.bigquery_v2.bigquery_audit import BigqueryTableIdentifier
from datahub.ingestion.source.sql.sqlalchemy_uri_mapper import get_platform_from_sqlalchemy_uri
from sqlalchemy import make_url

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.databases.system import system_of_url
from datahub_hyperjoin.tables import TableId

SOURCES = Path(datahub.ingestion.source.__path__[0])
COMMON = ("sql/sql_common.py", "get_identifier")
REDSHIFT = ("redshift/config.py", "dataset_name")
SNOWFLAKE = "snowflake://reader@account/Shop/public"
CONNECTORS = {
    "postgresql+psycopg2://reader@host/Shop": ("sql/postgres/source.py", "get_identifier"),
    "cockroachdb://reader@host/Shop": ("sql/postgres/source.py", "get_identifier"),
    "presto://reader@host:8080/Shop/default": ("sql/trino.py", "get_identifier"),
    "trino://reader@host:8080/Shop/default": ("sql/trino.py", "get_identifier"),
    "mssql+pymssql://reader@host/Shop": ("sql/mssql/source.py", "qualified_identifier"),
    "vertica+vertica_python://reader@host/Shop": ("sql/vertica.py", "get_identifier"),
    "db2+ibm_db://reader@host/Shop": ("sql/db2.py", "get_identifier"),
    "ibm_db_sa://reader@host/Shop": ("sql/db2.py", "get_identifier"),
    "starrocks://reader@host/Shop.default": ("sql/starrocks.py", "get_identifier"),
    "redshift+psycopg2://reader@host/Shop": REDSHIFT,
    "postgresql://reader@shop.a1.eu-west-1.redshift.amazonaws.com/Shop": REDSHIFT,
    "databricks://token@host?catalog=Shop": ("unity/proxy_types.py", "qualified_table_name"),
    SNOWFLAKE: ("snowflake/snowflake_utils.py", "_combine_identifier_parts"),
    "mysql+pymysql://reader@host/Sales": ("sql/mysql.py", "get_identifier"),
    "mariadb+pymysql://reader@host/Sales": ("sql/mysql.py", "get_identifier"),
    "oracle+oracledb://reader@host/?service_name=Shop": ("sql/oracle.py", "get_identifier"),
    "teradatasql://reader@host": ("sql/teradata.py", "get_identifier"),
    "druid://host/druid/v2/sql": ("sql/druid.py", "get_identifier"),
    "clickhouse://reader@host/Sales": COMMON,
    "awsathena+rest://athena.eu-west-1.amazonaws.com/Sales": COMMON,
    "hana://reader@host": COMMON,
    "sqlite:///shop.db": COMMON,
}
"""For each database URL, the file of DataHub's connector, and the function that names a table."""

UNMAPPED = {"cockroachdb", "databricks", "db2", "mariadb", "starrocks", "teradata"}
"""Platforms that some release of DataHub cannot derive from a database URL."""


def database_name(url: str) -> str:
    """Return the database that a URL names, as the tables' names begin."""
    made = make_url(url)
    return system_of_url(made).database_name(made)


def naming_function(file: str, name: str) -> Callable[..., str]:
    """Return the connector's function that names a table, without its type annotations."""
    path = SOURCES / file
    tree = ast.parse(path.read_text(encoding="utf-8") if path.exists() else "")
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    function = next(
        (node for node in functions if node.name == name and not node.decorator_list), None
    )
    if function is None:
        pytest.skip(f"DataHub {version('acryl-datahub')} names these tables elsewhere")
    function.returns = None
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    names: dict[str, Callable[..., str]] = {}
    code = compile(ast.Module([function], []), file, "exec")
    exec(code, names)  # noqa: S102 - a function of an installed package
    return names[name]


def named_by_connector(url: str) -> str:
    """Return the table name that DataHub's connector chooses with its default settings."""
    naming, database = naming_function(*CONNECTORS[url]), database_name(url)
    config = SimpleNamespace(database=database, convert_urns_to_lowercase=False)
    connector = SimpleNamespace(
        config=config,
        database=database,
        add_database_name_to_urn=False,
        get_db_name=lambda _: database,
        _current_catalog=SimpleNamespace(name=database),
    )
    databases = dict.fromkeys(("database", "current_database", "catalog", "db_name"), database)
    schemas = dict.fromkeys(("schema", "schema_name"), "Sales")
    tables = dict.fromkeys(("table", "table_name", "entity"), "Orders")
    objects = {"self": connector, "config": config, "inspector": None}
    known: dict[str, object] = {**objects, **databases, **schemas, **tables}
    code = naming.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return naming(**{parameter: known[parameter] for parameter in parameters})


def table_id(url: str, **keys: object) -> TableId:
    """Return the `TableId` that this project gives to the table `Sales.Orders`."""
    connection = ConnectionConfig.model_validate({"database": {"url": url}, **keys})
    assert connection.database
    location = Relation(
        database=connection.database, connection="connections[0]", schema="Sales", name="Orders"
    )
    return connection.selection.table(
        title="Orders",
        location=location,
        database=database_name(url),
        schema="Sales",
        table="Orders",
    ).id


@pytest.mark.parametrize("url", [url for url in CONNECTORS if url != SNOWFLAKE])
def test_names_are_those_of_the_connector(url: str) -> None:
    assert table_id(url).name == named_by_connector(url)


def test_names_of_snowflake_are_in_lower_case_unless_the_recipe_names_tables() -> None:
    assert named_by_connector(SNOWFLAKE) == "Shop.Sales.Orders"
    assert table_id(SNOWFLAKE).name == "shop.sales.orders"
    assert table_id(SNOWFLAKE, platform_instance="EU").name == "EU.shop.sales.orders"
    assert table_id(SNOWFLAKE, names="{schema}.{table}").name == "Sales.Orders"
    config = SOURCES.joinpath("snowflake/snowflake_config.py").read_text(encoding="utf-8")
    assert "    convert_urns_to_lowercase: bool = Field(\n        default=True,\n" in config


def test_the_database_of_bigquery_is_the_project() -> None:
    url = "bigquery://my-project/Sales"
    theirs = BigqueryTableIdentifier("my-project", "Sales", "Orders")
    assert table_id(url).name == theirs.get_table_name() == "my-project.Sales.Orders"


@pytest.mark.parametrize("url", [*CONNECTORS, "bigquery://my-project/Sales"])
def test_platforms_are_those_of_the_connector(url: str) -> None:
    platform = table_id(url).platform
    theirs = get_platform_from_sqlalchemy_uri(url)
    assert theirs == platform or (theirs == "external" and platform in UNMAPPED)


def test_serverless_redshift_is_redshift() -> None:
    host = "group.123.eu-west-1.redshift-serverless.amazonaws.com"
    assert table_id(f"postgresql://reader@{host}/shop").platform == "redshift"
    assert table_id("postgresql://reader@redshift.example.com/shop").platform == "postgres"
