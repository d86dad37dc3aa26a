"""Test that the advice about an unreadable table fits the cause."""

import pytest

from datahub_hyperjoin.spark.errors import Cause, UnreachableDatabaseError, UnreadableRelationError

SAID = [
    ("permission denied for table pay", "42501", Cause.PRIVILEGE),
    ("Zugriff verweigert", "42501", Cause.PRIVILEGE),
    ("(1142, \"SELECT command denied to user 'x'\")", "1142", Cause.PRIVILEGE),
    ("Access Denied: Cannot select from columns [pay] in table", "", Cause.PRIVILEGE),
    ("Insufficient privileges to operate on table 'PAY'", "", Cause.PRIVILEGE),
    ("division by zero", "22012", Cause.DIVISION),
    ("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide`", "", Cause.DIVISION),
    ("canceling statement due to statement timeout", "57014", Cause.TIME),
    ("(1969, 'Query execution was interrupted (max_statement_time exceeded)')", "1969", Cause.TIME),
    ("Query exceeded maximum time limit of 1.00s", "", Cause.TIME),
    ("function convert_all(integer) does not exist", "42883", Cause.FUNCTION),
    ("(1305, 'FUNCTION shop.f does not exist')", "1305", Cause.FUNCTION),
    ("no such function: f", "1", Cause.FUNCTION),
    ("server closed the connection unexpectedly", "", Cause.CONNECTION),
    ("(2013, 'Lost connection to server during query')", "2013", Cause.CONNECTION),
    ('could not connect to server "remote"', "08001", Cause.CONNECTION),
    ('relation "gone" does not exist', "42P01", Cause.DEFINITION),
    ("(1356, \"View 'v' references invalid table(s) or column(s)\")", "1356", Cause.DEFINITION),
    ("invalid input syntax for type integer", "22P02", Cause.DATA),
    ('(1292, "Truncated incorrect INTEGER value")', "1292", Cause.DATA),
    ("the disk is full", "53100", Cause.OTHER),
]


@pytest.mark.parametrize(("reason", "code", "cause"), SAID)
def test_the_advice_fits_the_cause(reason: str, code: str, cause: Cause) -> None:
    said = str(UnreadableRelationError.because(reason, code))
    assert said == f"cannot be read: {reason}. {cause.value}"
    assert ("select from it" in said) is (cause is Cause.PRIVILEGE)


@pytest.mark.parametrize(
    ("reason", "code", "advice"),
    [
        ("permission denied for table pg_class", "42501", "Let the connection's user read the"),
        ("(1045, \"Access denied for user 'me'\")", "1045", "Check its `url` and `password`"),
        ("Connection refused", "OperationalError", "Check its `url` and `password`"),
    ],
)
def test_the_url_is_doubted_only_if_it_may_be_wrong(reason: str, code: str, advice: str) -> None:
    said = str(UnreachableDatabaseError.because("connections[0]", reason, code))
    assert f"the database of `connections[0]` cannot be read: {reason}. {advice}" in said
