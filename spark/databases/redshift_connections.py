"""Recognise Amazon Redshift behind its URLs, and describe its types to SQLAlchemy."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import URL

MOST_FETCHED = 1000
"""The most rows that a cluster of one node returns at once from a cursor."""


def complete_redshift(url: "URL") -> "URL":
    """Return the URL that SQLAlchemy understands as one of Redshift.

    Redshift speaks the protocol of PostgreSQL, so a URL of `postgresql` may lead there. But the
    dialect of PostgreSQL asks for the columns of a table in SQL that Redshift does not know.

    Returns:
        For Redshift behind the name of PostgreSQL, the URL of its own dialect; others unchanged.
    """
    host = url.host or ""
    is_at_amazon = ".redshift" in host and host.endswith(".amazonaws.com")
    is_disguised = url.get_backend_name() == "postgresql" and is_at_amazon
    return url.set(drivername="redshift+psycopg2") if is_disguised else url


def describe_redshift_types() -> None:
    """Let the dialect know types whose values have no plain text, which it does not know.

    Otherwise, bytes would be read as the texts of their hexadecimal digits.
    """
    # Installed with the extra `redshift` only.
    from sqlalchemy.types import LargeBinary  # noqa: PLC0415
    from sqlalchemy_redshift.dialect import (  # noqa: PLC0415
        GEOMETRY,
        REDSHIFT_ISCHEMA_NAMES,
    )

    REDSHIFT_ISCHEMA_NAMES.update({"binary varying": LargeBinary, "geography": GEOMETRY})
