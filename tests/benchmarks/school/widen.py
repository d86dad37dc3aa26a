"""Add columns that are common in applications and rare in public data.

These are flags, dates, positions, amounts and running numbers, whose values coincide with those of
keys all the time, and the numbers of the users who made or changed a row.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.school.database import Database, Random, Reference
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_USERS = ("users", "app_user", "employee", "staff", "account", "operator", "person")
_ROLES = ("created_by", "updated_by", "owner_id", "approved_by", "assigned_to")
_FIRST = [
    "Ada",
    "Ben",
    "Carla",
    "Dev",
    "Ewa",
    "Finn",
    "Gita",
    "Hugo",
    "Ines",
    "Jan",
    "Kofi",
    "Lena",
    "Mira",
    "Noor",
    "Otto",
    "Pia",
]
_LAST = [
    "Abel",
    "Brandt",
    "Costa",
    "Diaz",
    "Eriksen",
    "Faure",
    "Gomez",
    "Hansen",
    "Ito",
    "Jansen",
    "Khan",
    "Lopez",
]


def widen(database: Database, random: Random) -> Database:
    """Add some columns to the tables, and sometimes a table of users.

    Args:
        database: The database.
        random: Source of all draws.
    """
    names = random.permutation([*_COLUMNS])[: int(random.integers(1, 8))].tolist()
    share = random.uniform(0.2, 0.9)
    tables = {}
    for table, frame in sorted(database.tables.items()):
        wide = frame.copy()
        for name in names:
            if name not in wide and random.random() < share:
                wide[name] = _COLUMNS[name](len(wide), random)
        tables[table] = wide
    wider = replace(database, tables=tables)
    return _add_users(wider, random) if random.random() < 0.5 else wider


def _add_users(database: Database, random: Random) -> Database:
    free = [name for name in _USERS if name not in database.tables]
    if not free:
        return database
    users = str(random.choice(free))
    count, start = int(random.integers(5, 60)), int(random.choice([1, 1, 1, 100, 1_000]))
    key = str(random.choice(["id", f"{users}_id", "user_no"]))
    keys = [str(start + at) for at in range(count)]
    people = [f"{random.choice(_FIRST)} {random.choice(_LAST)}" for _ in keys]
    tables = {**database.tables, users: pd.DataFrame({key: keys, "name": people}, dtype=str)}
    roles = random.permutation(_ROLES)[: int(random.integers(1, 4))].tolist()
    share = random.uniform(0.1, 0.7)
    references = list(database.references)
    for table, frame in sorted(database.tables.items()):
        for role in roles:
            if role not in frame and random.random() < share:
                cells = random.choice(keys[: max(3, count // 2)], len(frame))
                tables[table] = tables[table].assign(**{role: cells})
                references.append(Reference(ColumnName(table, role), ColumnName(users, key)))
    return replace(database, tables=tables, references=tuple(references))


def _flag(rows: int, random: Random) -> list[str]:
    words = (("0", "1"), ("Y", "N"), ("true", "false"))[int(random.integers(3))]
    return random.choice(words, rows, p=(0.8, 0.2)).tolist()


def _date(rows: int, random: Random) -> list[str]:
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(random.integers(0, 3_000, rows), "D")
    return [str(day.date()) for day in days]


def _small(rows: int, random: Random) -> list[str]:
    return random.integers(0, int(random.choice([3, 6, 12, 30, 100])), rows).astype(str).tolist()


def _running(rows: int, random: Random) -> list[str]:
    start = int(random.choice([0, 1, 1, 1_000]))
    return [str(start + at) for at in range(rows)]


def _shuffled(rows: int, random: Random) -> list[str]:
    return (1 + random.permutation(rows)).astype(str).tolist()


def _amount(rows: int, random: Random) -> list[str]:
    return [f"{amount:.2f}" for amount in random.gamma(2, 40, rows)]


def _status(rows: int, random: Random) -> list[str]:
    words = ["new", "open", "draft", "done", "closed", "pending"]
    return random.choice(words[: int(random.integers(3, 7))], rows).tolist()


def _document(rows: int, random: Random) -> list[str]:
    letter = "ABDIPRSW"[int(random.integers(8))]
    return [f"{letter}-{number:06}" for number in np.sort(random.permutation(9 * rows)[:rows])]


_COLUMNS: dict[str, Callable[[int, Random], list[str]]] = {
    "is_active": _flag,
    "is_default": _flag,
    "created_at": _date,
    "updated_at": _date,
    "position": _shuffled,
    "sort_order": _running,
    "line_no": _running,
    "version": _small,
    "level": _small,
    "priority": _small,
    "quantity": _small,
    "amount": _amount,
    "status": _status,
    "document_no": _document,
}
"""For each column name, a function that draws the column's cells."""
