"""Test that a run leaves nothing behind in databases, and writes nothing to them."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from faults.own_servers import own_server
from sqlalchemy import make_url

from datahub_hyperjoin import FoundJoins, find_joins
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from engines.poolers import own_database, pooled, run, traces, writing

NOTE = """
    CREATE FUNCTION note() RETURNS int LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO audit (what) VALUES ('read'); RETURN 1; END $$
"""
WRITING_VIEW = "CREATE VIEW noted AS SELECT note() AS one, id FROM customer"


def has_reference(found: FoundJoins) -> bool:
    return any(
        (str(join.referring), str(join.referenced))
        == ("public.orders.customer_id", "public.customer.id")
        for join in found
    )


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_other_clients_of_a_pool_notice_no_run(mode: str) -> None:
    with own_database() as url, pooled(url, mode) as through:
        with writing(through) as faults:
            found = find_joins(through)
        assert has_reference(found)
        assert [str(warning) for warning in found.warnings] == []
        assert faults == []
        assert traces(through) == []


def test_a_pool_without_transactions_is_refused_in_a_sentence() -> None:
    with own_database() as url, pooled(url, "statement") as through:
        with pytest.raises(UnreachableDatabaseError) as refused:
            find_joins(through)
        shown = make_url(through).set(drivername="postgresql+psycopg2")
        assert str(refused.value) == (
            f"the database of `{shown}` cannot be read: its pool ends each connection that begins "
            "a transaction, as `pool_mode = statement` does. Name a pool in the mode `transaction` "
            "or `session` in its `url`, or the server itself"
        )
        assert traces(through) == []


def test_options_that_a_pool_refuses_are_named() -> None:
    refused = (
        r"its pool refuses the `options` of its `url`\. Remove them, or let the pool ignore them "
        r"with `ignore_startup_parameters`$"
    )
    with (
        own_database() as url,
        pooled(url, "transaction") as through,
        pytest.raises(UnreachableDatabaseError, match=refused),
    ):
        find_joins(f"{through}?options=-csearch_path%3Dpublic")


@contextmanager
def logged_database(*statements: str) -> Iterator[tuple[str, Path]]:
    """Yield the URL of a database and the log of its server, which has all later statements."""
    with own_server("postgresql") as server:
        if server is None:
            pytest.skip("PostgreSQL's programs are not installed")
        with own_database(*statements, at=server.url) as url:
            run(url, "ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()")
            # The server may take a moment to reload its settings.
            while run(url, "SHOW log_statement") != ["all"]:
                pass
            yield url, server.log


def test_no_statement_writes_or_changes_a_session_and_views_are_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))[-1:]
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], *programs]))
    with logged_database(NOTE, WRITING_VIEW) as (url, log):
        size = log.stat().st_size
        found = find_joins(url, sql=False)
        written = log.read_text()[size:]
        assert run(url, "SELECT what FROM audit") == ["first"]
    statements = re.findall(r"LOG:  statement:\s*(.*)", written)
    assert len(statements) > 10
    verbs = {statement.split()[0].upper() for statement in statements}
    assert verbs <= {"BEGIN", "SHOW", "SET", "SELECT", "DECLARE", "FETCH", "CLOSE", "ROLLBACK"}
    changes = [each for each in statements if each.startswith(("BEGIN", "SET"))]
    assert {*changes} <= {
        "BEGIN",  # of SQLAlchemy's own questions about the server
        "BEGIN READ ONLY",
        "SET LOCAL statement_timeout = 600000",
        "SET LOCAL statement_timeout = 60000",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    }
    assert written.count('FROM public."late"') + written.count('FROM "public"."late"') == 1
    assert has_reference(found)
    assert "public.late" in found.tables
    [warning] = found.warnings
    assert warning.title == "Table skipped"
    assert warning.context.startswith(
        "public.noted: cannot be read: cannot execute INSERT in a read-only transaction"
    )
    assert warning.context.endswith("or leave it out with `--exclude` (`exclude` in Python)")
