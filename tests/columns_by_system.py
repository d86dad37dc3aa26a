"""Columns of the types of each database system, for tests of what databases compute."""

from collections.abc import Sequence

from servers import Server

from datahub_hyperjoin.spark.databases.computing_dialects import COMPUTING_DIALECTS
from datahub_hyperjoin.tables import Table

COMPUTING = (
    *("postgresql", "mariadb", "clickhouse", "databricks", "redshift", "snowflake", "trino"),
)
MESSY = (
    *("Oslo", " oslo", "OSLO\t", "New  York", "new york", "", "   ", "12", "12.0", "12.00", "-0"),
    *("007", "0", "-0.0", "2024-01-31", "2024-01-31T00:00", "2024-01-31 00:00:00Z", "NA", "null"),
    *("2024-01-31 09:30", "2024-01-31t09:30:00.250+00:00", "2024-01-31 09:30:00.2500", "\\N"),
    *("2024-13-31 09:30", "a\x1cb", "a b", "A\r\nB", "100%", "O'Brien", "1e3", "x" * 1500),
    *("Oslo ", "\\d", "a\\'b", "[a]", "$1", "na ", "1\n"),
)
FOREIGN = ("Straße", "STRASSE", "\uff2fslo", "\u00a0", "Zürich", "\u0130stanbul", "😀", "zurich")
RANGE = [*map(str, range(-3, 30))]
WORDS = [*("red", "Green", "blue", "cyan", "pink", "black", "white", "gray", "lime", "teal")]
_DAYS = [f"'2024-02-{n}'" for n in range(10, 29)]
_MOMENTS = [f"'2024-01-{n} 09:30:00.{n}'" for n in range(10, 28)]
_QUOTED = [f"'{word}'" for word in WORDS]
_IDS = [f"'6ba7b810-9dad-11d1-80b4-00c04fd430{n}'" for n in range(10, 28)]
_CHARS = ["'Oslo'", "'12'", "''", "'12'", "'Köln'", *_QUOTED]
_DOUBLES = ["0.1", "1e-15", "-0.0", "0", "123456789012345.6", "0.30000000000000004", "2", "0.5"]

# The type, and values of which none needs to be read.
TYPED = {
    "postgresql": {
        "smallint": RANGE,
        "bigint": ["9223372036854775807", "-5", *RANGE],
        "numeric": ["12.0", "12.00", "0.0000001", "NULL", "1e20", "-0.5", *RANGE],
        "numeric(12, 2)": [*RANGE, "-1.50", "1234567.89", "NULL"],
        "double precision": _DOUBLES,
        "real": ["0.1", "1e8", "16777216", "3.4e-5", "-7.25", "1.1754e-14"],
        "boolean": ["true", "false", "true", "NULL"],
        "date": ["'2024-01-31'", "'0001-06-01'", "NULL", *_DAYS],
        "timestamp": [*_MOMENTS, "'2024-01-31'"],
        "timestamptz": [f"'2024-01-31 01:00:{n}+01'" for n in range(10, 28)] + ["'2024-01-31'"],
        "uuid": _IDS,
        "char(9)": _CHARS,
        "varchar(20)": ["'NA'", "NULL", "'n/a'", *_QUOTED],
        "text": ["'NA'", "'n/a'", *[f"'{number}'" for number in range(30)]],
        "name": _QUOTED,
    },
    "mariadb": {
        "tinyint(1)": ["0", "1", "NULL", "1"],
        "bigint": ["9223372036854775807", "-9223372036854775808", *RANGE],
        "bigint unsigned": ["18446744073709551615", "7", "0"],
        "bit(9)": ["b'111'", "b'100000001'", "b'0'", "NULL"],
        "year": ["2024", "1999", "0"],
        "decimal(12, 2)": [*RANGE, "-1.50", "1234567.89", "-0.001", "NULL"],
        "decimal(65, 30)": ["0.0000001", "1e30", "12.50", "-7"],
        "decimal(20, 0)": ["100", "12345678901234567890", "-20", "0"],
        "double": [*_DOUBLES, "1.2345678901234567e-15"],
        "double(9, 3)": ["0.1", "-1.5", "100", "12.345"],
        "float": ["0.1", "1e8", "16777216", "16777217", "3.4e-5", "-7.25", "1.1754e-14", "-0.0"],
        "date": ["'2024-01-31'", "'0001-06-01'", "NULL", *_DAYS],
        "datetime": ["'2024-01-31 09:30:10'", "'2024-01-31'", *_DAYS],
        "datetime(6)": [*_MOMENTS, "'2024-01-31'", "'2024-01-31 09:30:00.250001'"],
        "timestamp(3) null": [*_MOMENTS, "'2024-01-31'", "NULL"],
        "time": ["'09:30:00'", "'23:59:59'", "'838:59:59'", "'-01:30:00'", "NULL"],
        "time(6)": ["'09:30:00.25'", "'00:00:00'", "'-26:00:00.000001'"],
        "uuid": _IDS,
        "char(9)": _CHARS,
        "varchar(20)": ["'NA'", "NULL", "'n/a'", *_QUOTED],
        "varchar(20) character set latin1": _QUOTED,
        "tinytext": ["'a\\0b'", "'a'", "'\\0'", "'ab'"],
        "longtext": ["'NA'", "'n/a'", *[f"'{number}'" for number in range(30)]],
        "enum('Red', 'blue', '')": ["'Red'", "'blue'", "''", "'blue'"],
        "set('a', 'B')": ["'a,B'", "'a'", "''"],
    },
    "clickhouse": {
        "Bool": ["true", "false", "true"],
        "Nullable(Int8)": ["0", "1", "NULL", "-1"],
        "Int64": ["9223372036854775807", "-9223372036854775808", *RANGE],
        "UInt64": ["18446744073709551615", "7", "0"],
        "Int256": [str(-(1 << 255)), "7", str((1 << 255) - 1)],
        "LowCardinality(UInt16)": [*map(str, range(30)), "7"],
        "Decimal(12, 2)": [*RANGE, "-1.50", "1234567.89", "-0.001"],
        "Nullable(Decimal(76, 38))": ["0.0000001", "1e30", "12.50", "-7", "NULL"],
        "Decimal(20, 0)": ["100", "12345678901234567890", "-20", "0"],
        "Float64": [*_DOUBLES, "1.2345678901234567e-15", "-1234567890123456.7"],
        "Nullable(Float32)": ["0.1", "1e8", "16777216", "3.4e-5", "-7.25", "1.1754e-14", "NULL"],
        "LowCardinality(Float64)": ["0.1", "-7.25", "0.1"],
        "BFloat16": ["0.5", "1", "-7.25"],
        "Date": ["'1970-01-01'", "'2149-06-06'", *_DAYS],
        "Nullable(Date32)": ["'1900-01-01'", "'2299-12-31'", "NULL", *_DAYS],
        "DateTime": ["'2024-01-31 09:30:10'", "'2024-01-31 00:00:00'", "'1970-01-01 00:00:00'"],
        "DateTime('Asia/Tokyo')": ["'2024-01-31 09:30:10'", "'2024-01-31 09:00:00'"],
        "DateTime64(0)": ["'2024-01-31 09:30:10'", "'2024-01-31 00:00:00'"],
        "Nullable(DateTime64(3, 'Asia/Tokyo'))": [*_MOMENTS, "'2024-01-31 09:00:00'", "NULL"],
        "DateTime64(6)": [*_MOMENTS, "'1900-01-01 00:00:00'", "'2299-12-31 23:59:59.000001'"],
        "DateTime64(9)": [*_MOMENTS, "'2024-01-31 09:30:00.123456789'"],
        "Time": ["'09:30:00'", "'999:59:59'", "'-01:30:00'"],
        "Time64(3)": ["'09:30:00.25'", "'00:00:00'", "'-26:00:00.001'"],
        "UUID": _IDS,
        "IPv4": ["'10.0.0.1'", "'192.168.7.255'"],
        "Nullable(IPv6)": ["'::1'", "'2001:DB8::A'", "'10.0.0.1'", "NULL"],
        "FixedString(9)": _CHARS,
        "Nullable(String)": ["'NA'", "NULL", "'n/a'", *_QUOTED],
        "LowCardinality(Nullable(String))": ["'NA'", "'NULL'", "'n/a'", *_QUOTED],
        "SimpleAggregateFunction(any, LowCardinality(String))": _QUOTED,
        "SimpleAggregateFunction(sum, Int64)": RANGE,
        "String": ["'NA'", "'a\\tb'", "'n/a'", *[f"'{number}'" for number in range(30)]],
        "Enum8('Red' = 1, 'blue' = -2, '' = 3)": ["'Red'", "'blue'", "''", "'blue'"],
        "Enum16('mro' = 1, '_a_' = 300, '100%' = 4)": ["'mro'", "'_a_'", "'100%'"],
    },
    "snowflake": {
        "boolean": ["true", "false", "true", "NULL"],
        "smallint": RANGE,
        "number(38, 0)": ["9223372036854775807", "-5", "0", *RANGE],
        "number(12, 2)": [*RANGE, "-1.50", "1234567.89", "-0.001", "NULL"],
        "number(38, 37)": ["0.0000001", "-7", "0.5"],
        "float": ["0.1", "1e-9", "0", "2", "-7.25", "1234567.89", "123456789.5", "1e14", "NULL"],
        "real": ["-0.5", "123456789012345", "999999.999999999", "-0.0", "0.0"],
        "date": ["'2024-01-31'", "'0001-06-01'", "NULL", *_DAYS],
        "timestamp_ntz": [*_MOMENTS, "'2024-01-31'", "'2024-01-31 09:30:00.250001'"],
        "timestamp_ntz(0)": ["'2024-01-31 09:30:10'", "'2024-01-31'", *_DAYS],
        "timestamp_ltz(3)": [*_MOMENTS, "'2024-01-31'"],
        "timestamp_tz": [f"'2024-01-31T01:00:{n}+01:00'" for n in range(10, 28)]
        + ["'2024-01-31T00:00:10+00:00'", "'2024-01-31T00:00:00+00:00'"],
        "char(9)": _CHARS,
        "varchar(20)": ["'NA'", "NULL", "'n/a'", *_QUOTED],
        "text": ["'NA'", "'a\\tb'", "'n/a'", *[f"'{number}'" for number in range(30)]],
    },
}
TYPED["databricks"] = {
    "boolean": ["true", "false", "true", "NULL"],
    "tinyint": ["0", "1", "NULL", "-1"],
    "bigint": ["9223372036854775807", "-9223372036854775808", *RANGE],
    "decimal(12, 2)": [*RANGE, "-1.50", "1234567.89", "-0.001", "NULL"],
    "decimal(38, 18)": ["0.0000001", "1e19", "12.50", "-7"],
    "decimal(38, 30)": ["1e-30", "1", "-0.25"],
    "decimal(20, 0)": ["100", "12345678901234567890", "-20", "0"],
    "double": ["0.1D", "1.5e-15D", "-0.0D", "0D", "123456789012.345D", "2D", "-9007199254740991D"],
    "float": ["0.5F", "16777216F", "-7.25F", "0.125F", "-0.0F", "16777217F"],
    "date": ["'2024-01-31'", "'0001-06-01'", "NULL", *_DAYS],
    "timestamp": [f"'2024-01-31 01:00:{n}+01'" for n in range(10, 28)] + ["'2024-01-31Z'"],
    "timestamp COMMENT ''": ["'2024-11-03 05:30:00Z'", "'2024-11-03 06:30:00Z'", "NULL"],
    "timestamp_ntz": [*_MOMENTS, "'2024-01-31'", "'2024-01-31 09:30:00.250001'"],
    "char(9)": _CHARS,
    "varchar(20)": ["'NA'", "NULL", "'n/a'", *_QUOTED],
    "string": ["'NA'", "'a\\tb'", "'n/a'", *[f"'{number}'" for number in range(30)]],
    "string collate UNICODE_CI_AI": ["'Koln'", "'Köln'", "'na'", *_QUOTED],
}
TYPED["trino"] = {
    "boolean": ["true", "false", "true", "NULL"],
    "tinyint": ["0", "1", "NULL", "-1"],
    "bigint": ["9223372036854775807", "-9223372036854775807", *RANGE],
    "decimal(12, 2)": [*RANGE, "-1.50", "1234567.89", "-0.001", "NULL"],
    "decimal(38, 18)": ["'0.0000001'", "'12345678901234567890'", "12.50", "-7"],
    "decimal(20, 0)": ["100", "'12345678901234567890'", "-20", "0"],
    "double": ["0.1", "1e-9", "-0e0", "0", "2", "-7.25", "123456789.5", "1e14", "NULL"],
    "real": ["0.1", "-0e0", "0", "-7.25", "999999", "12.345", "NULL", "0.000125", "1234.5"],
    "date": ["'2024-01-31'", "'0001-06-01'", "NULL", *_DAYS],
    "timestamp(0)": ["'2024-01-31 09:30:10'", "'2024-01-31'", *_DAYS],
    "timestamp(3)": [*_MOMENTS, "'2024-01-31'", "NULL"],
    "timestamp(6)": [*_MOMENTS, "'2024-01-31'", "'2024-01-31 09:30:00.250001'"],
    "timestamp(9)": [*_MOMENTS, "'2024-01-31 09:30:00.123456'"],
    "timestamp(3) with time zone": [
        *(f"'2024-01-31 01:00:{n} +01:00'" for n in range(10, 28)),
        *("'2024-01-31 00:00:10 UTC'", "'2024-01-31 00:00:00 UTC'", "NULL"),
    ],
    "time(3)": ["'09:30:00'", "'23:59:59.25'", "'00:00:00'", "NULL"],
    "uuid": _IDS,
    "char(9)": _CHARS,
    "varchar(20)": ["'NA'", "NULL", "'n/a'", *_QUOTED],
    "varchar": ["'NA'", "'a\tb'", "'n/a'", *[f"'{number}'" for number in range(30)]],
}
TYPED["redshift"] = {
    "boolean": ["true", "false", "true", "NULL"],
    "smallint": RANGE,
    "bigint": ["9223372036854775807", "-5", *RANGE],
    "numeric(12, 2)": [*RANGE, "-1.50", "1234567.89", "NULL"],
    "numeric(38, 18)": ["0.0000001", "1e19", "12.50", "-7"],
    "numeric(20, 0)": ["100", "12345678901234567890", "-20", "0"],
    "double precision": [
        *("0.1", "1e-9", "0", "-0.0", "2", "-7.25", "1234567.89", "123456789.5", "1e14", "NULL"),
    ],
    "real": ["0.1", "-7.25", "123456", "0.000001", "-0.0", "0"],
    "date": ["'2024-01-31'", "'0001-06-01'", "NULL", *_DAYS],
    "timestamp": [*_MOMENTS, "'2024-01-31'", "'2024-01-31 09:30:00.250001'", "NULL"],
    "timestamptz": [f"'2024-01-31 01:00:{n}+01'" for n in range(10, 28)] + ["'2024-01-31'"],
    "char(9)": ["'Oslo'", "'12'", "''", "'12'", *_QUOTED],
    "varchar(20)": ["'NA'", "NULL", "'n/a'", *_QUOTED, "'red '"],
    "text": ["'NA'", "'n/a'", *[f"'{number}'" for number in range(30)]],
}
# The type, and values of which some must be read.
READ = {
    "redshift": {
        "varchar": [f"'{number},5'" for number in range(20)],
        "varchar(8)": [f"'000{number}'" for number in range(20)],
        "varchar(20)": [f"'Köln {number}'" for number in range(20)],
        "varchar(40000)": [f"'{'ü' * 17_000}'", "'a'"],
        "double precision": ["'NaN'", "1"],
        "float8": ["0.30000000000000004", "1"],
        "float": ["1e15", "1"],
        "real": ["16777216", "1"],
        "date": ["'0044-03-15 BC'", "'2024-01-31'"],
        "time": ["'09:30:00'", "'23:59:59.25'"],
        "timetz": ["'09:30:00+01'"],
    },
    "trino": {
        "varchar": [f"'{number},5'" for number in range(20)],
        "varchar(8)": [f"'000{number}'" for number in range(20)],
        "varchar(20)": [f"'Köln {number}'" for number in range(20)],
        "varchar(40000)": [f"'{'ü' * 33_000}'", "'a'"],
        "double": ["'NaN'", "1"],
        "double precision": ["'-Infinity'", "0.30000000000000004", "1"],
        "real": ["16777216", "1"],
        "timestamp(9)": ["'2024-01-31 09:30:00.123456789'", "'2024-01-31'"],
        "date": ["'9999-12-31'", "'2024-01-31'"],
        "interval day to second": ["INTERVAL '7' DAY"],
    },
    "postgresql": {
        "text": [f"'{number},5'" for number in range(20)],
        "varchar(8)": [f"'000{number}'" for number in range(20)],
        "varchar": [f"'Köln {number}'" for number in range(20)],
        "date": ["'0044-03-15 BC'", "'2024-01-31'"],
        "timestamp": ["'infinity'", "'2024-01-31'"],
        "numeric": ["'NaN'", "1"],
        "double precision": ["'NaN'", "1e16", "1"],
        "float8": ["1e-300", "1"],
        "real": ["1e-38", "'-infinity'"],
        "text null": [f"'{'ü' * 33_000}'", "'a'"],
        "inet": ["'10.0.0.1'"],
        "interval": ["'26:00:00'"],
    },
    "mariadb": {
        "text": [f"'{number},5'" for number in range(20)],
        "varchar(8)": [f"'000{number}'" for number in range(20)],
        "varchar(20)": [f"'Köln {number}'" for number in range(20)],
        "varchar(20) character set latin1": [f"'Köln {number}'" for number in range(20)],
        "date": ["'0000-00-00'", "'2024-01-31'"],
        "date null": ["'2024-00-31'", "'2024-01-31'"],
        "datetime": ["'0000-00-00'", "'2024-01-31'"],
        "double": ["1e16", "1"],
        "double null": ["1e-300", "1"],
        "float": ["1e-38", "1"],
        "int(5) zerofill": ["7", "12"],
        "mediumtext": [f"'{'ü' * 33_000}'", "'a'"],
        "inet6": ["'::1'"],
    },
    "databricks": {
        "string": [f"'{number},5'" for number in range(20)],
        "varchar(8)": [f"'000{number}'" for number in range(20)],
        "string collate UTF8_LCASE": [f"'Köln {number}'" for number in range(20)],
        "string COMMENT ''": [f"'{'ü' * 33_000}'", "'a'"],
        "double": ["double('nan')", "1e16D", "1D"],
        "double COMMENT ''": ["1e-300D", "1D"],
        "double NOT NULL": ["0.30000000000000004D", "1D"],
        "float": ["0.1F", "1F"],
        "date": ["'0000-03-15'", "'2024-01-31'"],
    },
    "clickhouse": {
        "String": [f"'{number},5'" for number in range(20)],
        "FixedString(8)": [f"'000{number}'" for number in range(20)],
        "LowCardinality(String)": [f"'Köln {number}'" for number in range(20)],
        "Nullable(String)": [f"'\\xff{number}'" for number in range(20)],
        "String DEFAULT 'a'": [f"'{'ü' * 33_000}'", "'a'"],
        "Float64": ["nan", "1e16", "1"],
        "Nullable(Float64)": ["1e-300", "1"],
        "Float32": ["1e-38", "-inf"],
    },
    "snowflake": {
        "varchar": [f"'{number},5'" for number in range(20)],
        "varchar(8)": [f"'000{number}'" for number in range(20)],
        "text": [f"'Köln {number}'" for number in range(20)],
        "string": [f"'{'ü' * 33_000}'", "'a'"],
        "float": ["'NaN'", "1"],
        "double": ["'-inf'", "1"],
        "float8": ["0.30000000000000004", "1"],
        "float4": ["1e-10", "1"],
        "real": ["1e15", "1"],
        "time": ["'09:30:00'", "'23:59:59.25'", "NULL"],
    },
}


def literal(server: Server, text: str) -> str:
    return COMPUTING_DIALECTS[server.kind].syntax.quote_text(text)


def series(server: Server, end: int) -> str:
    """Write a table expression with the whole numbers `i` from 1 to `end`."""
    if server.kind == "mariadb":
        return f"(SELECT seq AS i FROM seq_1_to_{end}) AS numbers"
    if server.kind == "databricks":
        return f"(SELECT id AS i FROM range(1, {end + 1})) AS numbers"
    if server.kind == "snowflake":
        generated = f"table(generator(rowcount => {end}))"
        return f"(SELECT seq4() + 1 AS i FROM {generated}) AS numbers"
    if server.kind == "clickhouse":
        return f"(SELECT number + 1 AS i FROM numbers({end})) AS numbers"
    if server.kind == "trino":
        return f"UNNEST(sequence(1, {end})) AS numbers(i)"
    return f"generate_series(1, {end}) AS numbers(i)"


def numbered(server: Server, word: str, number: str = "i") -> str:
    """Write the text of a word with a number after it."""
    return f"concat('{word}', {f'CAST({number} AS varchar)' if server.kind == 'trino' else number})"


def fill(server: Server, name: str, type_: str, values: Sequence[str]) -> Table:
    """Create a table with one column `v`."""
    rows = ", ".join(f"({value})" for value in values)
    # Rejected by default are dates such as 0000-00-00, which old tables have.
    odd_values = ["SET sql_mode = ''"] if server.kind == "mariadb" else []
    engine = "ENGINE = MergeTree ORDER BY tuple()" if server.kind == "clickhouse" else ""
    if server.kind == "clickhouse" and type_.islower():
        # Its columns have no nulls by default.
        type_ = f"Nullable({type_})"
    if server.kind == "databricks":
        type_ = {"text": "string", "double precision": "double"}.get(type_, type_)
    if server.kind == "trino":
        type_ = {"text": "varchar", "double precision": "double"}.get(type_, type_)
        # It converts no texts to other types by itself.
        rows = ", ".join(f"(CAST({value} AS {type_}))" for value in values)
    server.run(
        *odd_values,
        f"DROP TABLE IF EXISTS {name}",
        f"CREATE TABLE {name} (v {type_}) {engine}",
        f"INSERT INTO {name} VALUES {rows}",
    )
    return server.table(name)
