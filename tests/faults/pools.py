"""Search a database through PgBouncer while another program writes through it."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import pytest

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.errors import HyperJoinError
from engines.poolers import own_database, pooled, run, traces, writing
from faults.outcome import Attack, Outcome

_MANY = 5
_NOTE = """
    CREATE FUNCTION note() RETURNS int LANGUAGE sql AS
    $$ INSERT INTO audit (what) VALUES ('read') RETURNING 1 $$
"""
_NOTED = "CREATE VIEW noted AS SELECT note() AS one, id FROM customer"
_REFUSED = "`pool_mode = statement`"


def _strike(mode: str) -> list[str]:
    """Search through a pool, and describe everything that went wrong."""
    with own_database(_NOTE, _NOTED) as url, pooled(url, mode) as through:
        with writing(through) as faults:
            found = _search(through)
        wrong = [f"the application fails during the run: {fault}" for fault in faults]
        wrong += [f"the run leaves behind: {trace}" for trace in traces(through)]
        if "read" in run(url, "SELECT what FROM audit"):
            wrong.append("a view wrote to the database")
    expected = _REFUSED if mode == "statement" else "public.noted: cannot be read"
    if expected not in found:
        wrong.append(f"the user reads {found!r}, without {expected!r}")
    return wrong


def _search(url: str) -> str:
    try:
        found = find_joins(url)
    except HyperJoinError as error:
        return str(error)
    return " ".join(warning.context for warning in found.warnings)


def _attack(mode: str, seed: int, long: bool) -> Outcome:  # noqa: ARG001, FBT001 - as all attacks
    tries, failures = 0, list[str]()
    with suppress(pytest.skip.Exception):  # no server, or no PgBouncer
        for at in range(_MANY if long else 1):
            wrong = _strike(mode)
            tries += 1
            failures += [f"round {at}: {each}" for each in wrong]
    return Outcome(tries, tuple(failures))


ATTACKS: Mapping[str, Attack] = {
    f"pool: {mode} mode": partial(_attack, mode) for mode in ("session", "transaction", "statement")
}
