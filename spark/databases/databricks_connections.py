"""Choose the SQLAlchemy dialect that describes Databricks best."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import URL

_DRIVER = ("databricks", "databricks")
"""SQLAlchemy's names of the dialect and of its driver."""
_DIALECT = ("databricks_to_read", "databricks")
"""The names of the dialect that describes tables better, for SQLAlchemy's list of dialects."""
_MODULE = "datahub_hyperjoin.spark.databases.databricks_dialect"


def complete_databricks(url: "URL") -> "URL":
    """Let the URL of a Databricks workspace lead to our dialect.

    Returns:
        The URL with our dialect. Those of other databases and drivers stay as they are.
    """
    from sqlalchemy.dialects import registry  # noqa: PLC0415 (lakes of files need no database)

    if (url.get_backend_name(), url.get_driver_name()) != _DRIVER:
        return url
    # Apart from the driver's own, which others in this process may use.
    registry.register(".".join(_DIALECT), _MODULE, "DatabricksReader")
    return url.set(drivername="+".join(_DIALECT))
