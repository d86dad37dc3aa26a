"""Name tables and columns as a database stores their names.

Snowflake and Oracle store a name without quotes in capitals. SQLAlchemy reports such a name in
small letters, as DataHub's connector does, and marks the names that are really in small letters.
"""

from sqlalchemy import Dialect
from sqlalchemy.sql.elements import quoted_name

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.quoted_names import escape_for_quotes


def stored_name(name: str, dialect: Dialect) -> quoted_name:
    """Return a name as the database stores it; it will be quoted."""
    is_exact = isinstance(name, quoted_name) and name.quote
    if dialect.requires_name_normalize and not is_exact:
        name = dialect.denormalize_name(name)
    return quoted_name(name, quote=True)


def reported_name(name: str, dialect: Dialect) -> str:
    """Return a name as SQLAlchemy reports it."""
    return dialect.normalize_name(name) if dialect.requires_name_normalize else name


def name_in_quotes(name: str, dialect: Dialect) -> str:
    """Write the quoted name of a schema, table or column."""
    stored = escape_for_quotes(stored_name(name, dialect), dialect.name)
    return dialect.identifier_preparer.quote_identifier(stored)


def relation_in_quotes(relation: Relation, dialect: Dialect) -> str:
    """Write the quoted name of a table or view, with its schema if there is one."""
    names = (relation.schema, relation.name)
    return ".".join(name_in_quotes(name, dialect) for name in names if name)
