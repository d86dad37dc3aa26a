"""Remember the tables that crashed a worker, so that later runs skip them.

To find such a table takes several Spark jobs, and to read it alone takes one more.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

from datahub_hyperjoin.spark.errors import LostWorkerError
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.spark.profiles.store_keys import result_key
from datahub_hyperjoin.tables import Table, TableId, TableProfile

_NAME = "lost_tables"
_FAULT = str(LostWorkerError.by_reading())
_WAIT = timedelta(days=7)
"""Time after which an unchanged table is read again: the machine may have more memory by then."""


class LostTables:
    """The tables that crashed a worker in an earlier run, and have not changed since.

    Args:
        store: Keeps the days on which they were read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._settings = repr(replace(store.config, store=None, force=False))
        self._days = store.results(_NAME)

    def known(self, tables: Iterable[Table]) -> dict[TableId, TableProfile]:
        """For each table that recently crashed a worker, return a profile that says so.

        Returns:
            For each such table, a profile with a fault that says when it is read again.
        """
        days = ((table, self._day(table)) for table in tables)
        return {
            table.id: TableProfile(
                table=table, fault=str(LostWorkerError.by_reading_on(day, again=day + _WAIT))
            )
            for table, day in days
            if day and _today() < day + _WAIT
        }

    def keep(self, profiles: Iterable[TableProfile]) -> None:
        """Remember the tables that crashed a worker in this run or an earlier one."""
        kept = {
            self._key(one.table): json.dumps(day.isoformat())
            for one in profiles
            if one.fault
            and one.table.state
            and (day := _today() if one.fault == _FAULT else self._day(one.table))
        }
        if kept != self._days or self._store.config.force:
            self._store.keep_results(_NAME, kept)

    def _day(self, table: Table) -> date | None:
        """Return the day on which a table crashed a worker, or None if no day is stored."""
        day = self._days.get(self._key(table))
        return date.fromisoformat(json.loads(day)) if day else None

    def _key(self, table: Table) -> str:
        return result_key([table], self._settings)


def _today() -> date:
    return datetime.now(timezone.utc).date()
