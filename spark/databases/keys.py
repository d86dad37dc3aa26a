"""Read the primary keys, unique constraints and foreign keys of database tables."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Engine, Inspector, inspect
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.spark.databases.engines import unreachable, without_type_warnings
from datahub_hyperjoin.spark.databases.granted_columns import lacks_privilege
from datahub_hyperjoin.spark.databases.relations import name_in_key, name_of

RelationName = tuple[str, str]
"""Schema and name of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyConstraint:
    """A foreign key of a database table."""

    name: str
    """Name of the foreign key; empty if it has none."""

    columns: tuple[str, ...]
    """The referring columns."""

    relation: RelationName
    """The referenced table."""

    referenced: tuple[str, ...]
    """The referenced columns, in the order of the referring ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyConstraints:
    """The keys that a database declares for a table."""

    unique: tuple[tuple[str, ...], ...] = ()
    """The columns of each primary key, unique constraint and unique index; the primary key is
    first."""

    foreign: tuple[ForeignKeyConstraint, ...] = ()
    """The foreign keys."""


def list_keys(
    engine: Engine,
    connection: str,
    relations: Collection[RelationName],
    hidden: Callable[[RelationName], None] = lambda _: None,
) -> dict[RelationName, KeyConstraints]:
    """Read the keys that the database declares for some tables.

    This takes a few SQL statements for each schema.

    Args:
        hidden: Receives each table whose keys the user may not see.

    Returns:
        The keys by table, without tables that declare none. Those of ClickHouse never do: its
        primary keys sort rows, and may repeat.
    """
    if engine.dialect.name == "clickhouse":
        return {}
    keys: dict[RelationName, KeyConstraints] = {}
    try:
        inspector = inspect(engine)
        for schema in sorted({schema for schema, _ in relations}):
            names = sorted(name for within, name in relations if within == schema)
            # Keys are the same whatever types their columns have.
            with without_type_warnings():
                keys |= _keys_of_all(inspector, schema, names, hidden)
    except SQLAlchemyError as error:
        raise unreachable(connection, error) from None
    return keys


def _keys_of_all(
    inspector: Inspector, schema: str, names: Sequence[str], hidden: Callable[[RelationName], None]
) -> dict[RelationName, KeyConstraints]:
    """Read the keys of tables of a schema; of each alone if the user may not see all of them."""
    try:
        return _keys_of(inspector, schema, names)
    except SQLAlchemyError as error:
        if not lacks_privilege(error):
            raise
        if len(names) == 1:
            hidden((schema, names[0]))
            return {}
    each = (_keys_of_all(inspector, schema, [name], hidden) for name in names)
    return {name: keys for found in each for name, keys in found.items()}


def _keys_of(
    inspector: Inspector, schema: str, names: Sequence[str]
) -> dict[RelationName, KeyConstraints]:
    unique: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    foreign: dict[str, list[ForeignKeyConstraint]] = defaultdict(list)
    for name, key in _unique_keys(inspector, schema, names):
        unique[name].append(key)
    for name, constraint in _foreign_keys(inspector, schema, names):
        foreign[name].append(constraint)
    return {
        (schema, name): KeyConstraints(
            unique=tuple(dict.fromkeys(unique[name])), foreign=tuple(foreign[name])
        )
        for name in sorted({*unique, *foreign})
    }


def _unique_keys(
    inspector: Inspector, schema: str, names: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """For each primary or unique key, yield the table's name and the key's columns."""
    for name, columns in _reflect_unique(inspector, schema or None, names):
        # An index of an expression has a part without a column.
        named = tuple(name_of(column, inspector) for column in columns if column)
        if named and len(named) == len(columns):
            yield name, named


def _reflect_unique(
    inspector: Inspector, schema: str | None, names: Sequence[str]
) -> Iterator[tuple[str, Sequence[str | None]]]:
    primary = inspector.get_multi_pk_constraint(schema, names)
    for (_, name), key in primary.items():
        yield name, key["constrained_columns"]
    # The dialects of BigQuery and Databricks, which have no such constraints, do not say so.
    with suppress(NotImplementedError):
        for (_, name), constraints in inspector.get_multi_unique_constraints(schema, names).items():
            yield from ((name, constraint["column_names"]) for constraint in constraints)
    # SQLite tells of some unique constraints only by the indexes that it made for them.
    listed = inspector.get_multi_indexes(schema, names, include_auto_indexes=True)
    for (_, name), indexes in listed.items():
        for index in indexes:
            if index["unique"] and not _is_partial(index.get("dialect_options", {})):
                yield name, index["column_names"]


def _is_partial(options: Mapping[str, object]) -> bool:
    """Return whether an index covers only the rows that meet a condition."""
    return any(option.endswith("_where") and value is not None for option, value in options.items())


def _foreign_keys(
    inspector: Inspector, schema: str, names: Sequence[str]
) -> Iterator[tuple[str, ForeignKeyConstraint]]:
    """For each foreign key, yield the referring table's name and the foreign key itself."""
    # PostgreSQL and Redshift leave out the schema of a table on the search path.
    has_path = inspector.dialect.name in {"postgresql", "redshift"}
    on_path = inspector.default_schema_name if has_path else schema
    for (_, name), constraints in inspector.get_multi_foreign_keys(schema or None, names).items():
        for key in constraints:
            yield (
                name,
                ForeignKeyConstraint(
                    name=key["name"] or "",
                    columns=tuple(
                        name_of(column, inspector) for column in key["constrained_columns"]
                    ),
                    relation=(
                        name_in_key(key["referred_schema"] or on_path or "", inspector),
                        name_in_key(key["referred_table"], inspector),
                    ),
                    referenced=tuple(
                        name_of(column, inspector) for column in key["referred_columns"]
                    ),
                ),
            )
