"""List the tables and views of a database, and their keys."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import URL, Engine, Inspector, inspect
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.spark.databases.engines import (
    database_error_text,
    unreachable,
    without_type_warnings,
)
from datahub_hyperjoin.spark.databases.relations import lacks_privilege
from datahub_hyperjoin.spark.databases.system import RelationName, query, system_of
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


@dataclass(frozen=True, slots=True, order=True)
class ListedRelation:
    """A table or view that a database or Spark catalog lists."""

    schema: str
    name: str

    size: int
    """Bytes on disk, at least 1; 0 if the database does not report it."""

    state: str = ""
    """A value that differs whenever the rows may have changed; empty if that is uncertain."""

    part_of: str = ""
    """Schema and name of the table that also returns these rows, as a partitioned table returns
    those of its partitions; empty if there is none."""

    is_view: bool = False
    """Whether reading it runs a query of unknown cost: a view that is not materialized."""

    @property
    def path(self) -> str:
        """Schema and name, joined by a dot."""
        return f"{self.schema}.{self.name}"


def without_parts(relations: Iterable[ListedRelation]) -> list[ListedRelation]:
    """Leave out partitions of tables that are listed themselves, whose rows would count twice."""
    chosen = {each.path: each for each in relations}
    return [each for each in chosen.values() if each.part_of not in chosen]


def list_relations(
    engine: Engine, connection: str, *, wanted: Callable[[str], bool], views: bool
) -> list[ListedRelation]:
    """List the tables in the wanted schemas of a database, and the views if `views` is true.

    System schemas are left out. Where schemas are databases and the URL names one, only that one is
    listed.
    """
    system = system_of(engine.dialect)
    try:
        relations = system.relations(engine, wanted, views=views)
        parts = {(schema, name): whole for schema, name, whole in query(engine, system.parts)}
    except SQLAlchemyError as error:
        raise unreachable(connection, error) from None
    # States have to be older than the rows that are read later.
    states = states_of(engine)
    return sorted(
        ListedRelation(
            *name, size, states.get(name, ""), part_of=parts.get(name, ""), is_view=is_view
        )
        for name, (size, is_view) in relations.items()
    )


def states_of(engine: Engine) -> Mapping[RelationName, str]:
    """For each table, compute a hash that changes whenever the table's rows change.

    This hash is the table's state. It also depends on the address of the database and on the user,
    but not on the password. Tables without a state are left out.
    """
    system, address = system_of(engine.dialect), _address(engine.url)
    if not system.has_states:
        return {}
    try:
        with engine.connect() as connection:
            return {
                (schema, name): sha256(repr((address, state)).encode()).hexdigest()
                for schema, name, state in system.states(connection)
            }
    except (SQLAlchemyError, OSError) as error:
        reason = (
            database_error_text(error) if isinstance(error, SQLAlchemyError) else error.strerror
        )
        logger.debug(
            "Cannot tell which tables have changed, so all are read. The database says: %s", reason
        )
        return {}


def _address(url: URL) -> str:
    """Return a database URL without passwords."""
    query_ = {name: value for name, value in url.query.items() if "pass" not in name.lower()}
    address = URL.create(
        url.drivername, url.username, None, url.host, url.port, url.database, query_
    )
    return address.render_as_string()


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


def list_keys(
    engine: Engine,
    connection: str,
    relations: Collection[RelationName],
    hidden: Callable[[RelationName], None] = lambda _: None,
) -> dict[RelationName, KeyConstraints]:
    """Read the keys that the database declares for some tables.

    This takes a few SQL statements for each schema.

    Args:
        engine: The database.
        connection: The recipe key of the database, for messages.
        relations: The tables.
        hidden: Receives each table whose keys the user may not see.

    Returns:
        The keys by table, without tables that declare none.
    """
    if not system_of(engine.dialect).declares_keys:
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
    name_of = system_of(inspector.dialect).column_name
    for name, columns in _reflect_unique(inspector, schema or None, names):
        # An index of an expression has a part without a column.
        named = tuple(name_of(column) for column in columns if column)
        if named and len(named) == len(columns):
            unique[name].append(named)
    for name, constraint in _foreign_keys(inspector, schema, names):
        foreign[name].append(constraint)
    return {
        (schema, name): KeyConstraints(
            unique=tuple(dict.fromkeys(unique[name])), foreign=tuple(foreign[name])
        )
        for name in sorted({*unique, *foreign})
    }


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
    system = system_of(inspector.dialect)
    on_path = inspector.default_schema_name if system.has_search_path else schema
    for (_, name), constraints in inspector.get_multi_foreign_keys(schema or None, names).items():
        for key in constraints:
            relation = (key["referred_schema"] or on_path or "", key["referred_table"])
            yield (
                name,
                ForeignKeyConstraint(
                    name=key["name"] or "",
                    columns=tuple(map(system.column_name, key["constrained_columns"])),
                    relation=(system.name_in_key(relation[0]), system.name_in_key(relation[1])),
                    referenced=tuple(map(system.column_name, key["referred_columns"])),
                ),
            )
