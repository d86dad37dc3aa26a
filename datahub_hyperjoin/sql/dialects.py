"""SQL dialects, with expressions that convert differently written values to one form.

`{x}` stands for a column and `{t}` for its text in lower case without surrounding spaces. An
expression is null where it cannot read a value. It never fails on one, because a query that fails
on row 1,000,001 passes every test on a sample.
"""

from dataclasses import dataclass
from functools import lru_cache
from threading import get_ident

from sqlglot import Dialect, Generator, exp

from datahub_hyperjoin.form_parts import PADDED_CODE, SqlParts
from datahub_hyperjoin.joins import FILE_DIALECT

_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]{{1,2}})?$"
_DOTTED = "REPLACE(REPLACE({t}, '/', '.'), '-', '.')"
_SPACED = "REPLACE(REPLACE({t}, ',', ''), '-', ' ')"
_SHORT_WORDS = (
    "REGEXP_REPLACE(REGEXP_REPLACE(REGEXP_REPLACE({t}, '^[a-z]+[.]?, ', ''), '[,-]+ *', ' ', 'g'), "
    "'([a-z]{{3}})[a-z.]*', '\\1')"
)
_DAY_MONTH, _MONTH_DAY = "^[0-9]{{1,2}} [a-z]{{3}}", "^[a-z]{{3}} [0-9]{{1,2}}"
_WHOLE = "^-?(0|[1-9][0-9]*)[.]0+$"
_ISO = "^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
_DAYS = "^[0-9]{{1,2}}[./-][0-9]{{1,2}}[./-][0-9]{{4}}( |$)"
_SHORT_DAYS = "^[0-9]{{1,2}}[./-][0-9]{{1,2}}[./-][0-9]{{2}}( |$)"
_OFFSET, _HOURS = "[+-][0-9]{{2}}:[0-9]{{2}}$", ":[0-9.]+[+-][0-9]{{2}}$"


def _formats(start: str) -> str:
    times = ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p")
    years = [f"{start}.%y", *(f"{start}.%Y{time}" for time in times)]
    return "[" + ", ".join(f"'{each}'" for each in years) + "]"


def _spelled(is_whole: str, whole: str, flags: str = "") -> str:
    """Return the expression of `SqlDialect.spelled`, given how a dialect reads `12.0` as `12`."""
    uniform = f"REGEXP_REPLACE({{t}}, '[[:space:]]+', ' '{flags})"
    day = f"NULLIF(REGEXP_REPLACE({uniform}, ' 00:00:00$', ''), '')"
    return f"CASE WHEN {is_whole} THEN {whole} ELSE {day} END"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlDialect(SqlParts):
    """A SQL dialect, with expressions that convert differently written values to one form."""

    name: str
    title: str
    """The database system's name in messages, such as `PostgreSQL`."""

    text: str
    exact: str
    """Expression by which values are grouped. Values that only a collation considers equal, such as
    `a` and `A`, stay separate."""

    folded: str
    """Expression that converts a value to lower-case text without surrounding spaces. Other
    expressions refer to the result as `{t}`."""

    spelled: str
    """Expression that makes spaces, whole numbers and times uniform in the result of `folded`."""

    without_midnight: str = "REGEXP_REPLACE({t}, '[ t]0?0:00[:.0]*$', '')"
    """Expression of a date without the time at which it begins."""

    composed: str = "{t}"
    """Expression in which a letter and its accent are one character, where there is one."""

    digits: str = "LOWER(HEX({x}))"
    address: str = "{x}"
    """Expression of the text of a network address, as the system shows it."""

    mixes_types: bool = True
    """Whether a text can be compared with a value of another type."""

    shows_bytes: bool = True
    """Whether the system's own client shows bytes in a form that people can read."""

    def write(
        self, expression: exp.Condition | exp.Query | exp.Table, *, pretty: bool = False
    ) -> str:
        """Write an expression or a statement as SQL text in this dialect."""
        return write_sql(expression, self.name, pretty=pretty)

    def fill(self, template: str, column: exp.Condition) -> exp.Condition:
        """Insert an expression, such as a column, into a template."""
        if template == "{x}":
            return column
        written = self.write(column)
        filled = template.format(x=written, t=self.folded.format(x=written))
        return exp.maybe_parse(filled, into=exp.Condition, dialect=self.name)


def write_sql(
    expression: exp.Condition | exp.Query | exp.Table, dialect: str, *, pretty: bool = False
) -> str:
    """Write an expression or a statement as SQL text."""
    # A generator writes one statement at a time.
    return _generator(dialect, get_ident(), pretty=pretty).generate(expression)


@lru_cache(maxsize=256)
def _generator(dialect: str, _thread: int, *, pretty: bool) -> Generator:
    # Making a generator takes longer than writing a statement.
    return Dialect.get_or_raise(dialect).generator(pretty=pretty)


DUCKDB = SqlDialect(
    name=FILE_DIALECT,
    title="DuckDB",
    translates=True,
    text="CAST({x} AS TEXT)",
    exact="{x}",
    folded="LOWER(TRIM(CAST({x} AS TEXT)))",
    composed="NFC_NORMALIZE({t})",
    spelled=_spelled(
        f"REGEXP_MATCHES({{t}}, '{_WHOLE}')", "SPLIT_PART({t}, '.', 1)", flags=", 'g'"
    ),
    without_zeros="CASE WHEN REGEXP_MATCHES({t}, '^[0-9]+$') THEN LTRIM({t}, '0') "
    "ELSE NULLIF({t}, '') END",
    unpadded=rf"REGEXP_REPLACE({{t}}, '{PADDED_CODE}', '\1\2')",
    number=lambda text: f"TRY_CAST({text} AS DOUBLE)",
    day_first=f"CAST(TRY_STRPTIME({_DOTTED}, {_formats('%d.%m')}) AS DATE)",
    month_first=f"CAST(TRY_STRPTIME({_DOTTED}, {_formats('%m.%d')}) AS DATE)",
    year_first=(
        f"CAST(COALESCE(TRY_STRPTIME({_DOTTED}, '%Y.%m.%d'), TRY_STRPTIME({{t}}, '%Y%m%d')) "
        "AS DATE)"
    ),
    day_in_words=(
        f"CAST(TRY_STRPTIME({_SPACED}, ['%d %b %y', '%d %b %Y', '%d %B %Y', '%b %d %Y', "
        "'%B %d %Y', '%a %d %b %Y', '%A %d %B %Y', '%a %d %B %Y', '%a %b %d %Y', '%A %B %d %Y', "
        "'%d%b%Y']) AS DATE)"
    ),
    serial_day="CAST('1899-12-30' AS DATE) + TRY_CAST({t} AS INTEGER)",
    iso_day="TRY_CAST({t} AS DATE)",
    zoned_instant="TRY_CAST(UPPER({t}) AS TIMESTAMPTZ) AT TIME ZONE 'UTC'",
    instant="TRY_CAST(UPPER({t}) AS TIMESTAMP)",
)

# PostgreSQL has no TRY_CAST, so a pattern guards every cast.
POSTGRES = SqlDialect(
    name="postgres",
    title="PostgreSQL",
    mixes_types=False,
    translates=True,
    digits="ENCODE({x}, 'hex')",
    composed="NORMALIZE({t})",
    address="ABBREV({x})",  # a cast would add `/32`
    text="CAST({x} AS TEXT)",
    exact="CAST({x} AS TEXT)",
    folded="LOWER(TRIM(CAST({x} AS TEXT)))",
    spelled=_spelled(f"{{t}} ~ '{_WHOLE}'", "SPLIT_PART({t}, '.', 1)", flags=", 'g'"),
    without_zeros="CASE WHEN {t} ~ '^[0-9]+$' THEN LTRIM({t}, '0') ELSE NULLIF({t}, '') END",
    unpadded=rf"REGEXP_REPLACE({{t}}, '{PADDED_CODE}', '\1\2')",
    number=lambda text: f"CASE WHEN {text} ~ '{_NUMBER}' THEN CAST({text} AS DECIMAL) END",
    day_first=f"CASE WHEN {{t}} ~ '{_DAYS}' THEN TO_DATE({_DOTTED}, 'DD.MM.YYYY') "
    f"WHEN {{t}} ~ '{_SHORT_DAYS}' THEN TO_DATE({_DOTTED}, 'DD.MM.YY') END",
    month_first=f"CASE WHEN {{t}} ~ '{_DAYS}' THEN TO_DATE({_DOTTED}, 'MM.DD.YYYY') "
    f"WHEN {{t}} ~ '{_SHORT_DAYS}' THEN TO_DATE({_DOTTED}, 'MM.DD.YY') END",
    year_first=(
        "CASE WHEN {t} ~ '^[0-9]{{8}}$' THEN TO_DATE({t}, 'YYYYMMDD') "
        "WHEN {t} ~ '^[0-9]{{4}}[./-][0-9]{{1,2}}[./-][0-9]{{1,2}}$' "
        f"THEN TO_DATE({_DOTTED}, 'YYYY.MM.DD') END"
    ),
    day_in_words=(
        f"CASE WHEN {_SHORT_WORDS} ~ '{_DAY_MONTH} [0-9]{{{{4}}}}$' "
        f"THEN TO_DATE({_SHORT_WORDS}, 'DD Mon YYYY') "
        f"WHEN {_SHORT_WORDS} ~ '{_MONTH_DAY} [0-9]{{{{4}}}}$' "
        f"THEN TO_DATE({_SHORT_WORDS}, 'Mon DD YYYY') "
        f"WHEN {_SHORT_WORDS} ~ '{_DAY_MONTH} [0-9]{{{{2}}}}$' "
        f"THEN TO_DATE({_SHORT_WORDS}, 'DD Mon YY') END"
    ),
    serial_day="CASE WHEN {t} ~ '^[0-9]{{1,6}}$' THEN DATE '1899-12-30' + CAST({t} AS INTEGER) END",
    iso_day=f"CASE WHEN {{t}} ~ '{_ISO}$' THEN CAST({{t}} AS DATE) END",
    zoned_instant=(
        f"CASE WHEN {{t}} ~ '{_ISO}[t ]' THEN CAST({{t}} AS TIMESTAMPTZ) AT TIME ZONE 'UTC' END"
    ),
    instant=f"CASE WHEN {{t}} ~ '{_ISO}' THEN CAST({{t}} AS TIMESTAMP) END",
)

# REGEXP is not used, since sqlglot writes it as REGEXP_LIKE, which MariaDB lacks.
_UTF8 = "CONVERT({x} USING utf8mb4)"
_DAY_GUARD = f"CASE WHEN REGEXP_INSTR({{t}}, '{_DAYS}') > 0 THEN STR_TO_DATE({_DOTTED}, "

MYSQL = SqlDialect(
    name="mysql",
    title="MariaDB or MySQL",
    translates=False,
    shows_bytes=False,
    # Only a binary collation tells letters with and without accents apart.
    text=f"{_UTF8} COLLATE utf8mb4_bin",
    exact="CAST({x} AS BINARY)",
    folded=f"LOWER(TRIM({_UTF8})) COLLATE utf8mb4_bin",
    spelled=_spelled(f"REGEXP_INSTR({{t}}, '{_WHOLE}') > 0", "SUBSTRING_INDEX({t}, '.', 1)")
    + " COLLATE utf8mb4_bin",
    without_zeros="CASE WHEN REGEXP_INSTR({t}, '^[0-9]+$') > 0 THEN TRIM(LEADING '0' FROM {t}) "
    "ELSE NULLIF({t}, '') END COLLATE utf8mb4_bin",
    unpadded=rf"REGEXP_REPLACE({{t}}, '{PADDED_CODE}', '\\1\\2') COLLATE utf8mb4_bin",
    number=lambda text: (
        f"CASE WHEN REGEXP_INSTR({text}, '{_NUMBER}') > 0 THEN CAST({text} AS DOUBLE) END"
    ),
    day_first=f"{_DAY_GUARD}'%d.%m.%Y') END",
    month_first=f"{_DAY_GUARD}'%m.%d.%Y') END",
    year_first=(
        "CASE WHEN REGEXP_INSTR({t}, '^[0-9]{{8}}$') > 0 THEN STR_TO_DATE({t}, '%Y%m%d') "
        f"ELSE STR_TO_DATE({_DOTTED}, '%Y.%m.%d') END"
    ),
    day_in_words=(
        f"COALESCE(STR_TO_DATE({_SPACED}, '%d %b %Y'), STR_TO_DATE({_SPACED}, '%d %M %Y'), "
        f"STR_TO_DATE({_SPACED}, '%b %d %Y'), STR_TO_DATE({_SPACED}, '%M %d %Y'), "
        f"STR_TO_DATE({_SPACED}, '%d %b %y'))"
    ),
    serial_day="CASE WHEN REGEXP_INSTR({t}, '^[0-9]{{1,6}}$') > 0 "
    "THEN DATE_ADD('1899-12-30', INTERVAL CAST({t} AS SIGNED) DAY) END",
    iso_day=(f"CASE WHEN REGEXP_INSTR({{t}}, '{_ISO}$') > 0 THEN CAST({{t}} AS DATE) END"),
    zoned_instant=(
        f"CASE WHEN REGEXP_INSTR({{t}}, '{_OFFSET}') > 0 THEN CONVERT_TZ("
        "REPLACE(LEFT({t}, CHAR_LENGTH({t}) - 6), 't', ' '), RIGHT({t}, 6), '+00:00') "
        f"WHEN REGEXP_INSTR({{t}}, '{_HOURS}') > 0 THEN CONVERT_TZ("
        "REPLACE(LEFT({t}, CHAR_LENGTH({t}) - 3), 't', ' '), "
        "CONCAT(RIGHT({t}, 3), ':00'), '+00:00') "
        "ELSE CAST(REPLACE(REPLACE({t}, 't', ' '), 'z', '') AS DATETIME(6)) END"
    ),
    instant="CAST(REPLACE(REPLACE({t}, 't', ' '), 'z', '') AS DATETIME(6))",
)

# SQLite has GLOB, but no regular expressions of its own.
_TWO = "[0-9][0-9]"
_DIGITS = "{t} <> '' AND {t} NOT GLOB '*[^0-9]*'"
_MINUTES = f"CASE WHEN {{t}} GLOB '*:*[+-]{_TWO}' THEN ':00' ELSE '' END"
_SQLITE_INSTANT = f"STRFTIME('%Y-%m-%d %H:%M:%f', UPPER({{t}}) || {_MINUTES})"
_SQLITE_DATE = f"CASE WHEN {{t}} GLOB '{_TWO}[./-]{_TWO}[./-]{_TWO}{_TWO}' THEN SUBSTR({{t}}, 7)"
_FIRST, _SECOND = " || '-' || SUBSTR({t}, 1, 2)", " || '-' || SUBSTR({t}, 4, 2)"
_NUMBER_AT_START = "LTRIM({t}, 'abcdefghijklmnopqrstuvwxyz')"
_UNPADDED = f"LTRIM({_NUMBER_AT_START}, '0')"
_PLAIN_NUMBER = "GLOB '*[0-9]*' AND {0} NOT GLOB '*[^0-9.e+-]*'"

SQLITE = SqlDialect(
    name="sqlite",
    title="SQLite",
    translates=False,
    # A column may hold values of any type, whatever its own type is.
    digits="CASE WHEN TYPEOF({x}) = 'blob' THEN LOWER(HEX({x})) ELSE {x} END",
    shows_bytes=False,
    text="CAST({x} AS TEXT)",
    exact="CAST({x} AS BLOB)",
    folded="LOWER(TRIM(CAST({x} AS TEXT)))",
    spelled=(
        "CASE WHEN {t} GLOB '*[0-9].0' AND {t} NOT GLOB '*[^0-9.-]*' "
        "THEN SUBSTR({t}, 1, LENGTH({t}) - 2) "
        "WHEN {t} GLOB '* 00:00:00' THEN SUBSTR({t}, 1, 10) ELSE NULLIF({t}, '') END"
    ),
    without_zeros=f"CASE WHEN {_DIGITS} THEN LTRIM({{t}}, '0') ELSE NULLIF({{t}}, '') END",
    unpadded=(
        f"CASE WHEN {_NUMBER_AT_START} <> {{t}} AND {_UNPADDED} GLOB '[1-9]*' "
        f"THEN SUBSTR({{t}}, 1, LENGTH({{t}}) - LENGTH({_NUMBER_AT_START})) || {_UNPADDED} "
        "ELSE {t} END"
    ),
    number=lambda text: (
        f"CASE WHEN {text} {_PLAIN_NUMBER.format(text)} THEN CAST({text} AS REAL) END"
    ),
    without_midnight="CASE WHEN {t} GLOB '*[ t]00:00:00' THEN SUBSTR({t}, 1, 10) ELSE {t} END",
    day_first=f"{_SQLITE_DATE}{_SECOND}{_FIRST} END",
    month_first=f"{_SQLITE_DATE}{_FIRST}{_SECOND} END",
    year_first=(
        f"CASE WHEN {{t}} GLOB '{_TWO * 4}' "
        "THEN SUBSTR({t}, 1, 4) || '-' || SUBSTR({t}, 5, 2) || '-' || SUBSTR({t}, 7) "
        "ELSE REPLACE(REPLACE({t}, '/', '-'), '.', '-') END"
    ),
    day_in_words="NULL",  # it has no names of months
    serial_day="DATE('1899-12-30', {t} || ' days')",
    iso_day="NULLIF({t}, '')",
    zoned_instant=_SQLITE_INSTANT,
    instant=_SQLITE_INSTANT,
)

SPARK = SqlDialect(
    name="spark",
    title="Spark",
    apostrophe=r"'\''",
    translates=True,
    text="CAST({x} AS STRING)",
    exact="{x}",
    folded="LOWER(TRIM(CAST({x} AS STRING)))",
    spelled=_spelled(f"{{t}} RLIKE '{_WHOLE}'", "SUBSTRING_INDEX({t}, '.', 1)"),
    without_zeros="CASE WHEN {t} RLIKE '^[0-9]+$' THEN TRIM(LEADING '0' FROM {t}) "
    "ELSE NULLIF({t}, '') END",
    unpadded=f"REGEXP_REPLACE({{t}}, '{PADDED_CODE}', '$1$2')",
    number=lambda text: f"TRY_CAST({text} AS DOUBLE)",
    day_first=f"CAST(TRY_TO_TIMESTAMP({_DOTTED}, 'd.M.yyyy') AS DATE)",
    month_first=f"CAST(TRY_TO_TIMESTAMP({_DOTTED}, 'M.d.yyyy') AS DATE)",
    year_first=(
        f"CAST(COALESCE(TRY_TO_TIMESTAMP({_DOTTED}, 'yyyy.M.d'), "
        "TRY_TO_TIMESTAMP({t}, 'yyyyMMdd')) AS DATE)"
    ),
    day_in_words="CAST(COALESCE({}) AS DATE)".format(
        ", ".join(
            f"TRY_TO_TIMESTAMP(INITCAP({_SPACED}), '{form}')"
            for form in ("d MMM yyyy", "d MMMM yyyy", "MMM d yyyy", "MMMM d yyyy", "d MMM yy")
        )
    ),
    serial_day="DATE_ADD(CAST('1899-12-30' AS DATE), TRY_CAST({t} AS INT))",
    iso_day="TRY_CAST({t} AS DATE)",
    zoned_instant="TRY_CAST(UPPER({t}) AS TIMESTAMP)",
    instant="TRY_CAST(UPPER({t}) AS TIMESTAMP)",
)
