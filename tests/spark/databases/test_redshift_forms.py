"""Test the SQL that Redshift is sent, and that its stand-in refuses what Redshift refuses."""

from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg2 import ProgrammingError
from sqlalchemy.types import (
    CHAR,
    REAL,
    TEXT,
    VARCHAR,
    Boolean,
    Date,
    DateTime,
    Float,
    Integer,
    NullType,
    Numeric,
    Time,
    TypeEngine,
)
from sqlglot import exp, parse_one

from datahub_hyperjoin.spark.databases.redshift import _SYNTAX as SYNTAX
from datahub_hyperjoin.spark.databases.redshift import Redshift
from datahub_hyperjoin.spark.databases.sql_forms import DIGITS_OF_DOUBLE, DIGITS_OF_REAL
from engines.redshift_driver import translated
from engines.sql_functions import called_functions

GOLDEN = Path(__file__).with_name("redshift_forms.sql")
FUNCTIONS = {
    *("abs", "bit_or", "cast", "char_length", "chr", "collate", "from_varbyte", "left"),
    *("len", "listagg", "lower", "md5", "nullif", "octet_length", "position", "regexp_instr"),
    *("regexp_replace", "rpad", "rtrim", "sign", "substring", "to_char", "to_varbyte", "trim"),
}
"""The functions that our SQL may use, which Redshift's compute nodes have:
https://docs.aws.amazon.com/redshift/latest/dg/c_SQL_functions.html."""


@pytest.mark.parametrize("type_", [Time(), NullType(), TEXT()], ids=repr)
def test_other_types_have_no_normal_form(type_: TypeEngine[Any]) -> None:
    assert Redshift().form(type_) is None


TYPES: tuple[TypeEngine[Any], ...] = (
    *(VARCHAR(9), CHAR(9), CHAR(), Boolean(), Integer(), Numeric(12, 2), Float(), REAL(), Date()),
    *(DateTime(), DateTime(timezone=True)),
)


@pytest.mark.parametrize("rounding", [ROUND_DOWN, ROUND_HALF_UP])
@pytest.mark.parametrize(
    ("digits", "float_"), [(DIGITS_OF_DOUBLE, float), (DIGITS_OF_REAL, np.float32)]
)
@given(st.floats(0, 1, exclude_max=True), st.data())
def test_a_float_is_the_same_decimal_whether_casts_round_or_cut(
    rounding: str,
    digits: Mapping[int, tuple[int, int]],
    float_: Callable[[str], object],
    share: float,
    data: st.DataObject,
) -> None:
    power, (_, scale) = data.draw(st.sampled_from([*digits.items()]))
    unit = Decimal(1).scaleb(-scale)
    number = Decimal(int(share * 10 ** (power + scale))) * unit
    # As in `_NUDGED`.
    nudged = float(float_(str(number))) + float(f"25e-{scale + 2}")  # type: ignore[arg-type]
    assert Decimal(nudged).quantize(unit, rounding) == number


def test_the_sql_does_not_change_unnoticed() -> None:
    written = ""
    for type_ in TYPES:
        form = Redshift().form(type_)
        assert form
        written += f"-- {type_!r}\n{form.value}\n{form.folded}\n{form.inexact}\n{form.text}\n"
    normal = SYNTAX.text_form("{}").normal
    assert GOLDEN.read_bytes().decode() == f"{written}-- normal form of a text\n{normal}\n"


def test_all_functions_are_those_of_compute_nodes() -> None:
    forms = [Redshift().form(type_) for type_ in TYPES]
    written = [
        text
        for form in forms
        if form
        for text in (form.value, form.folded, form.inexact, form.normal, form.text)
    ]
    called = called_functions(SYNTAX, [*written, Redshift.hex_digits])
    others = {"and", "decimal", "group", "not", "or", "then", "varchar", "when"}
    assert called - others == FUNCTIONS


@pytest.mark.parametrize("type_", TYPES, ids=repr)
def test_the_sql_is_read_by_another_parser_of_its_dialect(type_: TypeEngine[Any]) -> None:
    form = Redshift().form(type_)
    assert form
    inner = f"SELECT {form.folded} AS f, {form.inexact} AS x FROM (SELECT {form.value.format('p')} "
    query = f"SELECT {form.normal} FROM ({inner} AS v FROM t) AS d) AS e"
    parsed = parse_one(query, read="redshift")
    assert {each.name.lower() for each in parsed.find_all(exp.Anonymous)} <= {"octet_length"}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FILTER (WHERE v > 1) FROM t",
        """SELECT listagg(v, '') WITHIN GROUP (ORDER BY v),
        listagg(v, '') WITHIN GROUP (ORDER BY w) FROM t""",
        "SELECT listagg(v, '') FROM t",
        "SELECT sum(v) OVER (ORDER BY w) FROM t",
        "SELECT substr(v, 2) FROM t",
        "SELECT concat(v, w, x) FROM t",
        "SELECT array_agg(v) FROM t",
        "SELECT listagg(v, '') WITHIN GROUP (ORDER BY v), count(DISTINCT v) FROM t",
        "SELECT regexp_replace(v, '(?:a)', '') FROM t",
        "SELECT collate(v, 'C') FROM t",
        "SELECT (FROM t",
    ],
)
def test_the_stand_in_refuses_what_redshift_refuses(statement: str) -> None:
    with pytest.raises(ProgrammingError):
        translated(statement)
