"""Tell which names the export formats can hold.

Many formats put names into templates, or between quotes that know no escapes. There, a name could
end the text around it, and what follows would be read as instructions. Each function gets a name as
DataHub writes it, and sqlglot's name of its table's dialect.
"""

import re

from datahub_hyperjoin.export.quoting import can_quote, needs_quotes, quoted_name

_JINJA = re.compile(r"\{[{%#]")
_LOOKML = re.compile(r";;|\{[{%]|[$@]\{")
_LINE_BREAKS = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029"
_CUBE = re.compile(rf"[{{}}\\{_LINE_BREAKS}]")
_DBML = re.compile(rf'["\\\0\ud800-\udfff{_LINE_BREAKS}]')


def holds_any(name: str, dialect: str) -> bool:
    """Return True, for formats that escape every name."""
    del dialect
    return bool(name)


def snowflake_holds(name: str, dialect: str) -> bool:
    """Return whether Snowflake's SQL can hold a name."""
    del dialect
    return can_quote(name, "snowflake")


def databricks_holds(name: str, dialect: str) -> bool:
    """Return whether the SQL of Databricks can hold a name."""
    del dialect
    return can_quote(name, "databricks")


def metricflow_holds(name: str, dialect: str) -> bool:
    """Return whether MetricFlow can hold a name: dbt runs Jinja in every text."""
    return can_quote(name, dialect) and not _JINJA.search(name)


def dbt_holds(name: str, dialect: str) -> bool:
    """Return whether dbt's tests can hold a name: dbt runs Jinja, and quotes without escaping."""
    written = quoted_name(name, dialect)[1:-1] if needs_quotes(name) else name
    return metricflow_holds(name, dialect) and written.lower() == name.lower()


def lookml_holds(name: str, dialect: str) -> bool:
    """Return whether LookML can hold a name, of which `;;` ends SQL and braces are a template."""
    return can_quote(name, dialect) and not _LOOKML.search(name)


def cube_holds(name: str, dialect: str) -> bool:
    """Return whether Cube can hold a name: it reads SQL as a formatted string of Python."""
    return can_quote(name, dialect) and not _CUBE.search(name)


def dbml_holds(name: str, dialect: str) -> bool:
    """Return whether DBML can hold a name: its readers disagree on escapes and outer spaces."""
    del dialect
    return bool(name) and name == name.strip() and not _DBML.search(name)
