"""Serve Trino's protocol, and execute its SQL in DuckDB, to which `sqlglot` translates it.

`trino_engine.py` prints its port, and ends when its standard input does. Its time zone
is none that anybody expects.
"""

import json
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from math import isfinite
from threading import Lock, Thread
from typing import Any, ClassVar, NamedTuple

import duckdb
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from engines.sql_corrections import Corrections, corrected

_ZONE = "Asia/Kolkata"
_PAGE = 500
"""Number of rows in one answer."""
_SET_SESSION = re.compile(r"SET SESSION (\w+) = '([^']*)'")
_SHOW_SESSION = re.compile(r"SHOW SESSION LIKE '(\w+)'")
_EXECUTE = re.compile(r"EXECUTE IMMEDIATE '((?:[^']|'')*)'(?: USING (.*))?", re.DOTALL)
_COLUMNS = (
    "CREATE OR REPLACE TEMP TABLE trino_columns AS SELECT schema_name AS table_schema, table_name, "
    "column_name, column_index AS ordinal_position, NULL AS column_default, data_type, "
    "'YES' AS is_nullable, NULL AS comment FROM duckdb_columns() WHERE database_name = 'memory'"
)


class _Type(NamedTuple):
    """A type of DuckDB."""

    name: str
    """Trino's name of the type."""

    arguments: tuple[int, ...] = ()
    sent: str = "CAST({} AS VARCHAR)"
    """Expression of what Trino sends for a value `{}`."""


_TYPES: Mapping[str, _Type] = {
    '"NULL"': _Type("unknown", sent="{}"),
    "BOOLEAN": _Type("boolean", sent="{}"),
    "TINYINT": _Type("tinyint", sent="{}"),
    "SMALLINT": _Type("smallint", sent="{}"),
    "INTEGER": _Type("integer", sent="{}"),
    "BIGINT": _Type("bigint", sent="{}"),
    # A sum of BIGINT is one, too, in Trino.
    "HUGEINT": _Type("bigint", sent="{}"),
    "FLOAT": _Type("real"),
    "DOUBLE": _Type("double"),
    "DECIMAL": _Type("decimal", (38, 10)),
    "VARCHAR": _Type("varchar", (2_147_483_647,)),
    "JSON": _Type("json"),
    "BLOB": _Type("varbinary", sent="base64({})"),
    "UUID": _Type("uuid"),
    "DATE": _Type("date"),
    "TIME": _Type("time", (6,), "strftime(DATE '2000-01-01' + {}, '%H:%M:%S.%f')"),
    "TIMESTAMP_S": _Type("timestamp", (0,), "strftime({}, '%Y-%m-%d %H:%M:%S')"),
    "TIMESTAMP_MS": _Type("timestamp", (3,), "strftime({}, '%Y-%m-%d %H:%M:%S.%g')"),
    "TIMESTAMP": _Type("timestamp", (6,), "strftime({}, '%Y-%m-%d %H:%M:%S.%f')"),
    "TIMESTAMP_NS": _Type("timestamp", (9,), "strftime({}, '%Y-%m-%d %H:%M:%S.%n')"),
    "TIMESTAMP WITH TIME ZONE": _Type(
        "timestamp with time zone", (6,), f"strftime({{}}, '%Y-%m-%d %H:%M:%S.%f {_ZONE}')"
    ),
}


class _Result(NamedTuple):
    """What a statement returns."""

    columns: list[dict[str, object]]
    rows: list[list[object]]


def _hex(node: exp.Hex) -> exp.Expr:
    """Return the first digits of a hash; DuckDB returns all of them, in small letters."""
    hash_ = node.find(exp.MD5Digest)
    if hash_ is None:
        return node
    return exp.Upper(this=exp.func("left", exp.MD5(this=hash_.this), exp.Literal.number(16)))


def _length(node: exp.Length) -> exp.Expr:
    """Return the length of bytes, for which DuckDB has another function."""
    case = node.find_ancestor(exp.Case)
    written = case.find_all(exp.Hex) if case else ()
    is_of_bytes = isinstance(node.this, exp.Encode) or any(
        each.this == node.this for each in written
    )
    return exp.Anonymous(this="octet_length", expressions=[node.this]) if is_of_bytes else node


def _replacement(node: exp.RegexpReplace) -> exp.Expr:
    r"""Return a replacement with groups such as `\1`."""
    node.args["replacement"].set("this", node.args["replacement"].name.replace("$", "\\"))
    return node


def _cast(node: exp.Cast) -> exp.Expr:
    """Return a cast to the same text or value as in Trino."""
    this, is_to_text = node.this, node.to.is_type("varchar")
    if is_to_text and isinstance(this, exp.Cast) and this.to.is_type("timestamp"):
        # Trino writes zeros at the end.
        return exp.func("strftime", this, exp.Literal.string("%Y-%m-%d %H:%M:%S.%f"))
    if is_to_text and isinstance(this, exp.Cast) and this.to.is_type("time"):
        moment = exp.Add(this=exp.cast(exp.Literal.string("2000-01-01"), "date"), expression=this)
        return exp.func("strftime", moment, exp.Literal.string("%H:%M:%S.%f"))
    if node.to.is_type("timestamptz") and isinstance(this, exp.Literal):
        this.set("this", re.sub(r" (?=[+-]\d\d:\d\d$)", "", this.name))
    elif node.to.sql("trino") == "TIMESTAMP(12)":
        # DuckDB has at most 9 digits, and at most 6 of points in time with a time zone.
        node.set("to", exp.DataType.build("timestamp"))
    return node


def _function(node: exp.Anonymous) -> exp.Expr:
    """Return a function that DuckDB has under another name."""
    if node.name.lower() == "at_timezone":
        return exp.AtTimeZone(this=node.expressions[0], zone=node.expressions[1])
    return node


def _text(node: exp.UnicodeString) -> exp.Expr:
    """Return a literal without the escapes of Trino."""
    return exp.Literal.string(
        re.sub(
            r"\\(?:(\\)|([0-9a-f]{4}))",
            lambda found: found[1] or chr(int(found[2], 16)),
            node.name,
        )
    )


def _table(node: exp.Table) -> exp.Expr:
    """Return the table that lists columns with the names of Trino's types."""
    is_of_columns = (node.db, node.name) == ("information_schema", "columns")
    return exp.to_table("temp.main.trino_columns") if is_of_columns else node


_CORRECTIONS: Corrections = {
    exp.Anonymous: _function,
    exp.Cast: _cast,
    exp.Chr: lambda node: exp.Chr(expressions=[exp.cast(node.expressions[0], "int")]),
    exp.Hex: _hex,
    exp.Length: _length,
    exp.RegexpReplace: _replacement,
    exp.Table: _table,
    exp.UnicodeString: _text,
}
"""What `sqlglot` translates to something else than Trino means, and how it is corrected."""


class _Engine:
    """An engine that executes Trino's SQL."""

    def __init__(self) -> None:
        self._database = duckdb.connect(":memory:memory", config={"threads": 1})
        self._declared: dict[tuple[str, str, str], str] = {}
        self._one_at_a_time = Lock()

    def execute(self, statement: str, schema: str, session: Mapping[str, str]) -> _Result:
        """Execute a statement of Trino's SQL."""
        if found := _SHOW_SESSION.fullmatch(statement):
            names = ("Name", "Value", "Default", "Type", "Description")
            columns = [_column(name, _TYPES["VARCHAR"]) for name in names]
            return _Result(columns, [[found[1], session.get(found[1], ""), "", "varchar", ""]])
        tree, translated = _translated(statement)
        with self._one_at_a_time, self._database.cursor() as cursor:
            cursor.execute(f"SET TimeZone = '{_ZONE}'")
            if schema:
                cursor.execute(f'USE memory."{schema}"')
            if isinstance(tree, exp.Query):
                if "trino_columns" in translated:
                    self._list_columns(cursor)
                return _selected(translated, cursor)
            cursor.execute(translated)
            self._note_columns(tree, cursor, schema)
        return _Result([], [])

    def _note_columns(self, tree: exp.Expr, cursor: duckdb.DuckDBPyConnection, schema: str) -> None:
        """Note the types that a statement declares, or fill up values that it inserted."""
        table = tree.find(exp.Table)
        if table and isinstance(tree, (exp.Create, exp.Alter)):
            for column in tree.find_all(exp.ColumnDef):
                place = table.db or schema, table.name, column.name
                self._declared[place] = column.args["kind"].sql("trino").lower()
        if table and isinstance(tree, exp.Insert):
            self._pad(cursor, table.db or schema, table.name)

    def _list_columns(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """List all columns with the types that statements declared, or those of results."""
        cursor.execute(_COLUMNS)
        for name, type_ in _TYPES.items():
            cursor.execute(
                "UPDATE trino_columns SET data_type = ? WHERE data_type = ?", [type_.name, name]
            )
        for place, declared in self._declared.items():
            cursor.execute(
                "UPDATE trino_columns SET data_type = ? WHERE table_schema = ? "
                "AND table_name = ? AND column_name = ?",
                [declared, *place],
            )

    def _pad(self, cursor: duckdb.DuckDBPyConnection, schema: str, table: str) -> None:
        """Let the values of `char` columns have all of their characters."""
        for (within, name, column), type_ in self._declared.items():
            if (within, name) == (schema, table) and type_.startswith("char("):
                size = int(type_[len("char(") : -1])
                cursor.execute(f"UPDATE {name} SET {column} = rpad({column}, {size}, ' ')")


@lru_cache(64)
def _translated(statement: str) -> tuple[exp.Expr, str]:
    """Parse a statement with its parameters, and write it in DuckDB's SQL."""
    parameters: list[exp.Expr] = []
    if found := _EXECUTE.fullmatch(statement):
        statement = found[1].replace("''", "'")
        values = found[2] and parse_one(f"SELECT {found[2]}", read="trino")
        parameters = values.expressions if values else []
    tree = parse_one(statement, read="trino")
    if isinstance(tree, exp.Command):
        message = f"mismatched input: {statement}"
        raise SqlglotError(message)
    for place, value in zip([*tree.find_all(exp.Placeholder, bfs=False)], parameters, strict=True):
        place.replace(value)
    return tree, corrected(tree, _CORRECTIONS).sql("duckdb")


def _selected(query: str, cursor: duckdb.DuckDBPyConnection) -> _Result:
    """Return the rows of a query, as Trino sends them."""
    found = cursor.sql(query)
    types = [_TYPES[str(type_).partition("(")[0]] for type_ in found.types]
    names = [f"c{at}" for at in range(len(types))]
    sent = ", ".join(type_.sent.format(name) for type_, name in zip(types, names, strict=True))
    rows = cursor.execute(f"SELECT {sent} FROM ({query}) AS t({', '.join(names)})").fetchall()
    columns = [_column(*each) for each in zip(found.columns, types, strict=True)]
    return _Result(columns, [[*map(_json_value, row, types)] for row in rows])


def _column(name: str, type_: _Type) -> dict[str, object]:
    arguments = [{"kind": "LONG", "value": value} for value in type_.arguments]
    signature = {"rawType": type_.name, "arguments": arguments}
    return {"name": name, "type": type_.name, "typeSignature": signature}


def _json_value(value: Any, type_: _Type) -> object:  # noqa: ANN401 (of any type)
    if value is None or type_.name not in {"double", "real"}:
        return value
    number = float(value)
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return number if isfinite(number) else words[str(number)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    engine = _Engine()
    results: ClassVar[dict[str, _Result]] = {}
    numbers = count()

    def do_POST(self) -> None:
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        name = f"query_{next(self.numbers)}"
        if self.headers["X-Trino-User"] == "stranger" or "SELECT 'lost'" in statement:
            self._respond({}, status=401)
            return
        if found := _SET_SESSION.fullmatch(statement):
            if self.headers["X-Trino-User"] == "limited":
                self._refuse(name, "Access Denied: Cannot set system session property")
            else:
                self._respond({"id": name}, {"X-Trino-Set-Session": f"{found[1]}={found[2]}"})
            return
        sent = self.headers.get("X-Trino-Session", "")
        session = dict(each.split("=", 1) for each in sent.split(",") if each)
        schema = self.headers.get("X-Trino-Schema", "")
        try:
            self.results[name] = self.engine.execute(statement, schema, session)
        except (duckdb.Error, SqlglotError) as error:
            self._refuse(name, str(error))
            return
        self._respond({"id": name, "nextUri": self._uri(name, 0)})

    def do_GET(self) -> None:
        *_, name, place = self.path.split("/")
        result, start = self.results[name], int(place) * _PAGE
        answer: dict[str, object] = {"id": name}
        if result.columns:
            answer |= {"columns": result.columns, "data": result.rows[start : start + _PAGE]}
        if start + _PAGE < len(result.rows):
            answer["nextUri"] = self._uri(name, int(place) + 1)
        self._respond(answer)

    def do_DELETE(self) -> None:
        self.results.pop(self.path.split("/")[-2], None)
        self._respond({})

    def _refuse(self, name: str, message: str) -> None:
        fault = {"message": message, "errorName": "GENERIC", "errorType": "USER_ERROR"}
        self._respond({"id": name, "error": {**fault, "errorCode": 1}})

    def _uri(self, name: str, place: int) -> str:
        return f"http://{self.headers['Host']}/v1/statement/{name}/{place}"

    def _respond(
        self,
        answer: dict[str, object],
        headers: Mapping[str, str] | None = None,
        status: int = 200,
    ) -> None:
        content = json.dumps({"stats": {}, "infoUri": "", **answer}).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 (the name of the base)
        """Write nothing."""


def main() -> None:
    """Serve until the standard input ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
