"""Read Amazon Redshift, and compute normal forms in its SQL.

The leader node and the compute nodes of a cluster have different functions. Only the compute nodes
read tables, so that the self-check takes its values from one. It has much to find out: no
documentation says how a replacement names a group, or that system views are read as tables are.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import types

from datahub_hyperjoin.spark.counting.aggregate import LONGEST_TEXT
from datahub_hyperjoin.spark.databases.postgresql import PostgresProtocol, postgres_moment
from datahub_hyperjoin.spark.databases.sql_forms import (
    DIGITS_OF_DOUBLE,
    DIGITS_OF_REAL,
    FormsByType,
    Probe,
    SqlForm,
    SqlSyntax,
    probes_of_texts,
    short_digits,
    usual_probes,
)
from datahub_hyperjoin.spark.databases.sql_profiles import FIRST_CHARACTER
from datahub_hyperjoin.spark.databases.system import THREE_PARTS
from datahub_hyperjoin.tables import DataType

if TYPE_CHECKING:
    from sqlalchemy import URL

MOST_FETCHED = 1000
"""The most rows that a cluster of one node returns at once from a cursor."""
_EXACT = "collate({0}, 'case_sensitive')"
# Comparisons and groups disregard spaces at the end of a text, so no text may end with one.
_MARKED = "{} || '.'"
_UNMARKED = "left(v, len(v) - 1)"
_TEXT_OF = "CAST({} AS varchar(64))"
_TEXT = _TEXT_OF.format("v")
# No documentation says that a boolean can be cast to a text.
_TRUTH = "CASE WHEN v THEN 'true' WHEN NOT v THEN 'false' END"
# Casts of floats cut digits off, as of 0.29, which is 0.289999999999999980.
_NUDGED = "CAST(v AS float8) + sign(v) * {}"
_LONGEST_CHAR = 4096
"""Maximum length of a CHAR; as a VARCHAR, it loses the spaces at its end."""


def _quote_for_redshift(text: str) -> str:
    r"""Write a text as a string literal, in which backslashes escape."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _character() -> str:
    """Write the template of a character with a given code; CHR knows those of ASCII only."""
    codes = range(FIRST_CHARACTER, FIRST_CHARACTER + LONGEST_TEXT + 1)
    # Drivers interpret a `%`.
    parts = map(_quote_for_redshift, "".join(map(chr, codes)).split("%"))
    characters = f" || chr({ord('%')}) || ".join(parts).replace("{", "{{").replace("}", "}}")
    return f"substring({characters}, {{0}} - {FIRST_CHARACTER - 1}, 1)"


# All statements of a transaction see the same rows.
_SYNTAX = SqlSyntax(
    quote_text=_quote_for_redshift,
    exact="{0}",
    # With 'p', patterns are those of PCRE.
    matches="regexp_instr({0}, {1}, 1, 1, 0, 'p') > 0",
    replaced="regexp_replace({0}, {1}, {2}, 1, 'p')",
    group_mark="$",
    # The compute nodes have no SUBSTR.
    rest="substring({0}, {1}, 65535)",
    day="CAST({0} AS date)",
    without_end="rtrim({0}, {1})",
    digits="CAST({0} AS varchar(20))",
    character=_character(),
    joined="listagg(CASE WHEN {3} THEN {0} END, {1}) WITHIN GROUP (ORDER BY {2})",
    joined_bytes=(
        "from_varbyte(to_varbyte(nullif(listagg(CASE WHEN {2} THEN {0} END, '') "
        "WITHIN GROUP (ORDER BY {1}), ''), 'hex'), 'base64')"
    ),
    has_one_order=True,
    # Beyond this size, LISTAGG fails.
    most_joined=65_535,
    # Plans of several columns are large, and each column needs several steps.
    most_columns=1,
)


def _char_form(type_: types.CHAR) -> SqlForm:
    value = _EXACT.format(f"CAST({{}} AS varchar({_LONGEST_CHAR}))")
    padded = f"rpad(v, {type_.length})" if type_.length else "v"
    return _SYNTAX.text_form(value, text=padded)


def _float_form(type_: types.Float[Any]) -> SqlForm:
    if isinstance(type_, types.REAL):
        real = "CAST(CAST({} AS float8) AS real)"
        return _SYNTAX.decimal_form(DIGITS_OF_REAL, real, _TEXT_OF, _NUDGED)
    double = "CAST({} AS float8)"
    return _SYNTAX.decimal_form(DIGITS_OF_DOUBLE, double, _TEXT_OF, _NUDGED)


_FORMS: FormsByType = {
    **_SYNTAX.usual_forms(_TEXT),
    types.CHAR: _char_form,
    types.VARCHAR: _SYNTAX.text_form(_EXACT.format(_MARKED), text=_UNMARKED, spelled=_UNMARKED),
    types.Date: _SYNTAX.day_form("to_char(v, 'YYYY-MM-DD')"),
    types.DateTime: partial(postgres_moment, syntax=_SYNTAX),
    types.Float: _float_form,
    types.Boolean: _SYNTAX.plain_form(DataType.BOOLEAN, _TRUTH),
}


# A value that depends on a row of a table is computed where tables are read.
_ROW = " FROM (SELECT query_id AS i FROM sys_query_history LIMIT 1) AS q"
_PROBES = [
    each._replace(value=f"CASE WHEN i > 0 THEN {each.value} END")
    for each in (
        *usual_probes("CAST('{}' AS date)", "CAST('{}' AS timestamp)", "float8", "decimal"),
        Probe(types.Integer(), "-7", "-7"),
        Probe(
            types.DateTime(timezone=True),
            "CAST('2024-01-31 01:00:00.000010+01:30' AS timestamptz)",
            "2024-01-30 23:30:00.00001",
        ),
        Probe(types.Float(), "CAST(-0.29 AS float8)", "-0.29"),
        Probe(types.REAL(), "CAST(-0.1 AS real)", "-0.1"),
        Probe(types.CHAR(8), "CAST('Oslo' AS char(8))", "oslo"),
        *probes_of_texts(types.VARCHAR(9), _quote_for_redshift),
    )
]


class Redshift(PostgresProtocol):
    """Amazon Redshift."""

    name = "redshift"
    table_names = THREE_PARTS
    extra = "redshift"
    hex_digits = short_digits("octet_length({0})", "lower(from_varbyte({0}, 'hex'))")
    most_fetched = MOST_FETCHED
    syntax = _SYNTAX
    forms = _FORMS
    probes = _PROBES
    probed_row = _ROW
    lists_sizes = False

    def complete(self, url: "URL") -> "URL":
        """Lead a URL with the name of PostgreSQL to the dialect of Redshift."""
        is_disguised = url.get_backend_name() == "postgresql"
        return url.set(drivername="redshift+psycopg2") if is_disguised else url

    def engine_created(self) -> None:
        """Let the dialect know types whose values have no plain text, which it does not know.

        Otherwise, bytes would be read as the texts of their hexadecimal digits.
        """
        # Installed with the extra `redshift` only.
        from sqlalchemy_redshift.dialect import (  # noqa: PLC0415
            GEOMETRY,
            REDSHIFT_ISCHEMA_NAMES,
        )

        REDSHIFT_ISCHEMA_NAMES.update({"binary varying": types.LargeBinary, "geography": GEOMETRY})

    def name_in_key(self, reported: str) -> str:
        """Remove the quotes that SQLAlchemy leaves around a name."""
        return reported[1:-1].replace('""', '"') if reported.startswith('"') else reported
