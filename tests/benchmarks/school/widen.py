"""Add columns that are common in applications and rare in public data.

These are flags, dates, positions, amounts and running numbers, whose values coincide with those of
keys all the time, and the numbers of the users who made or changed a row. They are as frequent as
in the schemas of applications that the school reads; nothing refers to them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from benchmarks.school import values
from benchmarks.school.database import Database, Random, Reference
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_USERS = ("users", "app_user", "employee", "staff", "account", "operator", "person")
_ROLES = ("created_by", "updated_by", "owner_id", "approved_by", "assigned_to")


def widen(database: Database, random: Random) -> Database:
    """Add some columns to the tables, and sometimes a table of users.

    Args:
        database: The database.
        random: Source of all draws.
    """
    drawn = [
        (str(random.choice(one.names)), one) for one in _COLUMNS if random.random() < one.databases
    ]
    tables = {}
    for table, frame in sorted(database.tables.items()):
        wide = frame.copy()
        for name, one in drawn:
            if name not in wide and random.random() < one.tables:
                wide[name] = one.cells(len(wide), random)
        tables[table] = wide
    wider = replace(database, tables=tables)
    return _add_users(wider, random) if random.random() < _HAVE_USERS else wider


def _add_users(database: Database, random: Random) -> Database:
    free = [name for name in _USERS if name not in database.tables]
    if not free:
        return database
    users = str(random.choice(free))
    count, start = int(random.integers(5, 60)), int(random.choice([1, 1, 1, 100, 1_000]))
    key = str(random.choice(["id", f"{users}_id", "user_no"]))
    keys = [str(start + at) for at in range(count)]
    people = values.person(count, random)
    tables = {**database.tables, users: pd.DataFrame({key: keys, "name": people}, dtype=str)}
    roles = random.permutation(_ROLES)[: int(random.integers(1, 3))].tolist()
    share = random.uniform(*_OF_USERS)
    references = list(database.references)
    for table, frame in sorted(database.tables.items()):
        for role in roles:
            if role not in frame and random.random() < share:
                cells = random.choice(keys[: max(3, count // 2)], len(frame))
                tables[table] = tables[table].assign(**{role: cells})
                references.append(Reference(ColumnName(table, role), ColumnName(users, key)))
    return replace(database, tables=tables, references=tuple(references))


@dataclass(frozen=True)
class _Common:
    """A kind of column, and how common it is."""

    names: tuple[str, ...]
    databases: float
    """Share of the databases that have such columns."""

    tables: float
    """Share of the tables with such a column in these databases."""

    cells: Callable[[int, Random], list[str]]


_COLUMNS = (
    _Common(("created_at", "updated_at", "date_added"), 0.9, 0.6, values.date),
    _Common(("is_active", "is_default", "enabled"), 0.7, 0.12, values.flag),
    _Common(("status", "state"), 0.75, 0.13, values.status),
    _Common(("position", "sort_order", "display_order", "seq"), 0.45, 0.08, values.position),
    _Common(("version", "level", "priority"), 0.45, 0.05, values.small),
    _Common(("quantity", "count"), 0.35, 0.07, values.small),
    _Common(("amount", "total", "price"), 0.35, 0.07, values.amount),
    _Common(("line_no", "item_no"), 0.05, 0.1, values.line),
    _Common(("document_no",), 0.1, 0.1, values.document),
)
"""Counted in 75 schemas and 65 databases of 98 authors; those of documents are a guess."""

_HAVE_USERS = 0.5
"""Share of the databases that get references to users: 75 % of the schemas, 40 % of the databases
with rows."""

_OF_USERS = (0.05, 0.25)
"""Least and largest share of the tables with a reference to users, for each role: together 16 % of
the references of the schemas, 4 % of those of the databases with rows."""
