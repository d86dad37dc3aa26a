"""Damage a table of a real database between profiling and verification."""

import logging
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from datahub.ingestion.run.pipeline import Pipeline
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.graphql import all_joins
from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.stages import pair_evidence
from engines.servers import Server, serving
from faults.outcome import Attack, Outcome
from faults.own_servers import OwnServer, own_server
from gms import Gms
from lakes.lake import codes, describe

VERIFIES = pair_evidence
"""The module in which the attack patches `verify_joins`, to strike just before verification."""
_KINDS = ("postgresql", "mariadb")
_PLATFORMS = {"postgresql": "postgres", "mariadb": "mariadb"}
_STRUCK = "flights"
_MANY = 5
_TABLES = {
    "airlines": {"carrier": codes("CA"), "title": codes("Air ")},
    "airports": {"faa": codes("K"), "town": codes("Town ")},
    _STRUCK: {"carrier": codes("CA") * 5, "origin": codes("K") * 5},
}
_SESSIONS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE usename = '{who}'",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE user = '{who}'",
}
_END = {"postgresql": "SELECT pg_terminate_backend({id})", "mariadb": "KILL {id}"}
_LOCK = {"postgresql": "LOCK TABLE {name}", "mariadb": "LOCK TABLES {name} WRITE"}


@dataclass(frozen=True)
class Shop:
    """A schema on a database server, and the user that reads it."""

    server: Server
    who: str
    own: OwnServer | None = None
    """The server itself, if nobody else uses it."""

    @property
    def account(self) -> str:
        return self.who if self.server.kind == "postgresql" else f"{self.who}@'%'"

    @property
    def url(self) -> str:
        return make_url(self.server.url).set(username=self.who).render_as_string(False)  # noqa: FBT003 - the password

    def create(self, name: str) -> None:
        columns, table = _TABLES[name], f"{self.server.schema}.{name}"
        rows = zip(*columns.values(), strict=True)
        kinds = ", ".join(f"{column} VARCHAR(20)" for column in columns)
        values = ", ".join(f"({', '.join(map(repr, row))})" for row in rows)
        self.server.run(
            f"CREATE TABLE {table} ({kinds})",
            f"INSERT INTO {table} VALUES {values}",
            f"GRANT SELECT ON {table} TO {self.account}",
        )

    @contextmanager
    def dropped(self) -> Iterator[None]:
        """Drop the table."""
        self.server.run(f"DROP TABLE {self.server.schema}.{_STRUCK}")
        yield
        self.create(_STRUCK)

    @contextmanager
    def revoked(self) -> Iterator[None]:
        """Revoke the right to read the table."""
        table = f"{self.server.schema}.{_STRUCK}"
        self.server.run(f"REVOKE SELECT ON {table} FROM {self.account}")
        yield
        self.server.run(f"GRANT SELECT ON {table} TO {self.account}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the table for longer than the statement timeout."""
        engine = create_engine(self.server.url)
        with engine.connect() as connection:
            name = f"{self.server.schema}.{_STRUCK}"
            connection.execute(text(_LOCK[self.server.kind].format(name=name)))
            yield
            connection.invalidate()  # closed without an answer, which a stopped server cannot give
        engine.dispose()

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Lock the table, and end each session that waits for it."""
        done = threading.Event()
        killer = threading.Thread(target=self._end_sessions, args=(done,))
        with self.locked():
            killer.start()
            yield
            done.set()
            killer.join()

    @contextmanager
    def restarted(self) -> Iterator[None]:
        """Lock the table, and restart the server while a query waits for it."""
        restart = threading.Timer(0.5, self._restart)
        with self.locked():
            restart.start()
            yield
            restart.join()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the server until the run has ended."""
        assert self.own
        self.own.stop()
        yield
        self.own.start()

    def _restart(self) -> None:
        assert self.own
        self.own.stop()
        self.own.start()

    def _end_sessions(self, done: threading.Event) -> None:
        kind = self.server.kind
        engine = create_engine(self.server.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            while not done.wait(0.3):
                found = connection.execute(text(_SESSIONS[kind].format(who=self.who)))
                for session in found.scalars().all():
                    with suppress(SQLAlchemyError):  # it may have ended by itself
                        connection.execute(text(_END[kind].format(id=session)))
        engine.dispose()


FAULTS: dict[str, Callable[[Shop], AbstractContextManager[None]]] = {
    "table dropped": Shop.dropped,
    "permission revoked": Shop.revoked,
    "statement timeout": Shop.locked,
    "connection cut": Shop.cut,
}
OUTAGES: dict[str, Callable[[Shop], AbstractContextManager[None]]] = {
    "server restarted": Shop.restarted,
    "server stopped": Shop.stopped,
}
"""Faults that stop the whole server, so they are tried only on a server started for this test."""
_ALL = {**FAULTS, **OUTAGES}
_HEALS = {"server restarted"}
"""Faults after which a second attempt may read the table, so that nothing is lost."""


@contextmanager
def _shop(kind: str, folder: Path, own: OwnServer | None = None) -> Iterator[Shop]:
    with serving(kind, folder, at=own.url if own else "") as server:
        shop = Shop(server, f"{server.schema}_r", own)
        if kind == "postgresql":
            server.run(
                f"CREATE ROLE {shop.who} LOGIN",
                f"GRANT USAGE ON SCHEMA {server.schema} TO {shop.who}",
            )
            leave = [f"DROP OWNED BY {shop.who}", f"DROP ROLE {shop.who}"]
        else:
            server.run(f"CREATE USER {shop.account}")
            leave = [f"DROP USER {shop.account}"]
        try:
            for name in _TABLES:
                shop.create(name)
            yield shop
        finally:
            server.run(*leave)


def _run(gms: Gms, shop: Shop, folder: Path) -> tuple[list[str], list[str]]:
    """Run the recipe, and return its failures and warnings."""
    recipe: dict[str, Any] = {
        "pipeline_name": "shop",
        "source": {
            "type": "hyperjoin",
            "config": {
                "connections": [
                    {
                        "database": {"url": shop.url, "timeout": 1},
                        "schemas": {"allow": [f"^{shop.server.schema}$"]},
                    }
                ],
                "profile": {"store": tempfile.mkdtemp(dir=folder)},
                "stateful_ingestion": {"enabled": True, "fail_safe_threshold": 100},
                "allow_literal_secrets": True,
            },
        },
        "sink": {"type": "datahub-rest", "config": {"server": gms.url}},
    }
    pipeline = Pipeline.create(recipe, report_to=None, no_progress=True)
    pipeline.run()
    source, sink = pipeline.source.get_report(), pipeline.sink.get_report()
    failures = [*map(str, source.failures), *map(str, sink.failures)]
    return failures, [*map(str, source.warnings)]


def _seen(gms: Gms) -> set[str]:
    return {f"{join.left} = {join.right}" for join in all_joins(gms.graph())}


def _strike(gms: Gms, shop: Shop, folder: Path, fault: str) -> list[str]:
    """Run once with a fault and once without, and describe everything that went wrong."""
    before, found = _seen(gms), list[str]()
    striking = ExitStack()

    def verify_struck(*arguments: Any, **named: Any) -> object:  # noqa: ANN401 - passed on
        striking.enter_context(_ALL[fault](shop))
        return verify_joins(*arguments, **named)

    with striking, patch.object(VERIFIES, verify_joins.__name__, verify_struck):
        failures, warnings = _run(gms, shop, folder)
    if failures:
        found.append(f"the run fails: {failures}")
    if fault not in _HEALS and not any(_STRUCK in warning for warning in warnings):
        found.append(f"no warning names the table: {warnings}")
    if lost := before ^ _seen(gms):
        found.append(f"joins of earlier runs changed: {sorted(lost)}")
    failures, warnings = _run(gms, shop, folder)
    if not before:
        found.append("there are no joins to lose")
    if failures or warnings or _seen(gms) != before:
        found.append(f"the next run is not as before: {failures} {warnings} {sorted(_seen(gms))}")
    return found


@dataclass
class Tally:
    """The number of tries of one fault, and a description of each failure."""

    tries: int = 0
    failures: list[str] = field(default_factory=list)


@cache
def _results(rounds: int) -> Mapping[str, Tally]:
    """Try every fault on each server that runs on this machine."""
    tallies = {fault: Tally() for fault in _ALL}
    logging.disable(logging.CRITICAL)
    try:
        with borrow_session(SessionConfig()), tempfile.TemporaryDirectory() as folder:
            for kind in _KINDS:
                with suppress(pytest.skip.Exception):  # no server answers
                    _strike_all(kind, Path(folder), rounds, tallies, FAULTS)
                with own_server(kind) as own:
                    if own:
                        _strike_all(kind, Path(folder), rounds, tallies, OUTAGES, own)
    finally:
        logging.disable(logging.NOTSET)
    return tallies


def _strike_all(
    kind: str,
    folder: Path,
    rounds: int,
    tallies: Mapping[str, Tally],
    faults: Iterable[str],
    own: OwnServer | None = None,
) -> None:
    with _shop(kind, folder, own) as shop, Gms() as gms:
        for name, columns in _TABLES.items():
            database = f"{make_url(shop.url).database}." if kind == "postgresql" else ""
            path = f"{database}{shop.server.schema}.{name}"
            describe(gms, path, columns, platform=_PLATFORMS[kind])
        _run(gms, shop, folder)
        for at, fault in product(range(rounds), faults):
            broken = _strike(gms, shop, folder, fault)
            tallies[fault].tries += 1
            if broken:
                tallies[fault].failures.append(f"{kind}, {fault}, round {at}: {'; '.join(broken)}")


def _attack(fault: str, seed: int, long: bool) -> Outcome:  # noqa: ARG001, FBT001 - as all attacks
    """Return the outcome of one fault.

    The first call tries all faults, on one server after the other.
    """
    tally = _results(_MANY if long else 1)[fault]
    return Outcome(tally.tries, tuple(tally.failures))


ATTACKS: Mapping[str, Attack] = {f"database: {fault}": partial(_attack, fault) for fault in _ALL}
