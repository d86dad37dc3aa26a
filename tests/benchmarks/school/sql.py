"""Read SQL scripts: the tables that they create, their rows and their declared keys."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import pandas as pd

from benchmarks.school.database import Database, Reference
from benchmarks.school.lexer import Token, statements
from benchmarks.school.repository import Repository
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_ROWS = 20_000
"""Maximum number of rows that are read of a table, unless another one is asked for."""

_COPY = re.compile(
    r"^COPY\s+(?P<table>[^\s(]+)\s*\((?P<columns>[^)]*)\)\s+FROM\s+stdin[^\n]*\n(?P<rows>.*?)^\\\.",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)

_NOT_COLUMNS = {
    *("CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "KEY", "INDEX"),
    *("FULLTEXT", "SPATIAL", "EXCLUDE", "LIKE", "PERIOD"),
}
_EMPTY = {"NULL", "DEFAULT"}
_INTEGER = re.compile(r"(big|small|tiny|medium)?(int|serial)|number|integer", re.IGNORECASE)


@dataclass
class Table:
    """A table that a script creates."""

    name: str
    columns: dict[str, str] = field(default_factory=dict)
    """Maps each column's name in lower case to the name as written."""

    integers: set[str] = field(default_factory=set)
    key: list[str] = field(default_factory=list)
    """The columns of the primary key."""

    keys: list[tuple[list[str], str, list[str]]] = field(default_factory=list)
    """Each foreign key: own columns, other table, and its columns unless its primary key is it."""

    rows: list[dict[str, str]] = field(default_factory=list)


def read_sql(repository: Repository, patterns: str, *, rows: int = _ROWS) -> Database:
    """Read the scripts of a repository as one database.

    Args:
        repository: The repository.
        patterns: Patterns of their paths, separated by spaces; `?` stands for a space in a name.
        rows: Maximum number of rows that are read of a table.

    Raises:
        UnreadableSourceError: No file matches.
    """
    paths = repository.matching(patterns)
    scripts = [decoded(repository.read(path)) for path in paths]
    return database_of(repository.source, scripts, rows=rows)


def database_of(name: str, scripts: Iterable[str], *, rows: int = _ROWS) -> Database:
    """Return the database that scripts create, whatever their order.

    Args:
        name: Name of the database.
        scripts: The scripts; those that create tables may come after those that fill them.
        rows: Maximum number of rows that are read of a table.
    """
    tables: dict[str, Table] = {}
    inserts: list[list[Token]] = []
    copies: list[re.Match[str]] = []
    for script in scripts:
        copies += _COPY.finditer(script)
        for statement in statements(_COPY.sub("", script)):
            first = [token.word for token in statement[:8]]
            if first[:1] in (["INSERT"], ["REPLACE"]):
                inserts.append(statement)
            elif "TABLE" in first and first[0] in {"CREATE", "ALTER"}:
                _define(statement, tables)
    for statement in inserts:
        _insert(statement, tables, rows)
    for match in copies:
        _copy(match, tables, rows)
    frames = {table.name: _frame(table) for table in tables.values() if table.columns}
    whole, parts = (tuple(sorted(set(_references(tables, wide=wide)))) for wide in (False, True))
    return Database(name, frames, whole, parts).without_dangling_references()


def decoded(content: bytes | None) -> str:
    """Return the text of a file; it may be in UTF-8, UTF-16 with a mark, or Latin-1."""
    content = content or b""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _define(statement: Sequence[Token], tables: dict[str, Table]) -> None:
    """Add what a CREATE TABLE or ALTER TABLE says about columns and keys."""
    at = next(at for at, token in enumerate(statement) if token.word == "TABLE") + 1
    while at < len(statement) and statement[at].word in {"IF", "NOT", "EXISTS", "ONLY"}:
        at += 1
    name, at = _name(statement, at)
    if not name:
        return
    table = tables.setdefault(name.lower(), Table(name))
    if statement[0].word == "CREATE" and at < len(statement) and statement[at].word == "(":
        for part in _parts(statement, at):
            _read_part(part, table)
    elif statement[0].word == "ALTER":
        _read_keys(statement[at:], table, None)


def _read_part(part: Sequence[Token], table: Table) -> None:
    if not part or not part[0].is_name:
        return
    column = None
    if part[0].word not in _NOT_COLUMNS or (len(part) > 1 and _INTEGER.match(part[1].text)):
        column = part[0].text
        table.columns.setdefault(column.lower(), column)
        if len(part) > 1 and _INTEGER.match(part[1].text):
            table.integers.add(column.lower())
    _read_keys(part, table, column)


def _read_keys(part: Sequence[Token], table: Table, column: str | None) -> None:
    """Read the keys that a part of a definition declares.

    Args:
        part: A column, a constraint, or all that follows ALTER TABLE.
        table: The table.
        column: The column that the part defines, if it does.
    """
    own: list[str] = [column] if column else []
    for at, token in enumerate(part):
        before = part[at - 1].word if at else ""
        if token.word == "KEY" and before in {"PRIMARY", "FOREIGN"}:
            listed = _listed(part, at + 1)
            if before == "FOREIGN":
                own = listed
            else:
                table.key = [one.lower() for one in listed or own]
        elif token.word == "REFERENCES":
            other, after = _name(part, at + 1)
            keys = _listed(part, after) if _is(part, after, "(") else []
            if own and other:
                table.keys.append((own, other, keys))


def _listed(part: Sequence[Token], at: int) -> list[str]:
    """Return the names in the first parentheses from a position, unless another key comes before.

    >>> _listed([*statements("KEY CLUSTERED ([a] ASC, b)")][0], 1)
    ['a', 'b']
    """
    while at < len(part) and part[at].word != "(":
        if part[at].word in {"REFERENCES", "NOT", "AUTO_INCREMENT", "DEFAULT", ","}:
            return []
        at += 1
    inside = [*takewhile(lambda token: token.word != ")", part[at + 1 :])]
    order = {"ASC", "DESC"}
    return [one.text for one in inside if one.is_name and one.word not in order]


def _is(part: Sequence[Token], at: int, sign: str) -> bool:
    return at < len(part) and part[at].word == sign


def _name(statement: Sequence[Token], at: int) -> tuple[str, int]:
    """Return the name at a position without its schema, and the position after it."""
    name = ""
    while at < len(statement) and statement[at].is_name:
        name = statement[at].text
        at += 1
        if not _is(statement, at, "."):
            break
        at += 1
    return name.rpartition(".")[2], at


def _parts(statement: Sequence[Token], at: int) -> Iterator[list[Token]]:
    """Yield what stands between the commas of the parentheses that open at a position."""
    part: list[Token] = []
    depth = 0
    for token in statement[at:]:
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        if depth == 0 or (depth == 1 and token.word == ","):
            yield part
            part = []
            if depth == 0:
                return
        elif part or depth > 1 or token.word != "(":
            part.append(token)
    yield part


def _insert(statement: Sequence[Token], tables: dict[str, Table], rows: int) -> None:
    """Add the rows of an INSERT, if they are written out."""
    at = 1
    while at < len(statement) and statement[at].word in {"INTO", "IGNORE", "OR", "REPLACE"}:
        at += 1
    name, at = _name(statement, at)
    table = tables.get(name.lower())
    if not table:
        return
    columns = [*table.columns]
    if _is(statement, at, "("):
        columns = [part[0].text.lower() for part in _parts(statement, at) if part]
        at += 1 + _length(statement, at)
    while at < len(statement) and statement[at].word not in {"VALUES", "VALUE", "SELECT"}:
        at += 1
    if at >= len(statement) or statement[at].word == "SELECT":
        return
    at += 1
    while _is(statement, at, "(") and len(table.rows) < rows:
        cells = [_cell(part) for part in _parts(statement, at)]
        if len(cells) == len(columns) and any(cells):
            table.rows.append(dict(zip(columns, cells, strict=True)))
        at += 1 + _length(statement, at)
        at += _is(statement, at, ",")


def _length(statement: Sequence[Token], at: int) -> int:
    """Return the number of tokens from an opening parenthesis to its partner."""
    depth = 0
    for length, token in enumerate(statement[at:]):
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        if depth == 0:
            return length
    return len(statement) - at


def _cell(part: Sequence[Token]) -> str:
    """Return the text of a value; what a function or query computes is unknown, thus empty."""
    if not part or part[0].word in _EMPTY:
        return ""
    values = [token for token in part if token.kind in {"string", "quoted", "number"}]
    if len(part) == 1:
        return part[0].text.strip()
    # N'text', DATE '2020-01-01', CAST('1' AS int), '1'::int, to_date('2020-01-01', 'YYYY-MM-DD')
    words = {token.word for token in part}
    known = words <= {"DATE", "TIMESTAMP", "TIME", "CAST", "AS", "TO_DATE", "-", "(", ")", ",", ""}
    if values and (known or ":" in part[1].text or part[0].word == "CAST"):
        sign = "-" if part[0].word == "-" else ""
        return sign + values[0].text.strip()
    return ""


def _copy(match: re.Match[str], tables: dict[str, Table], rows: int) -> None:
    table = tables.get(match["table"].rpartition(".")[2].strip('"').lower())
    if not table:
        return
    columns = [column.strip().strip('"').lower() for column in match["columns"].split(",")]
    for line in match["rows"].splitlines()[:rows]:
        cells = ["" if cell == r"\N" else cell.strip() for cell in line.split("\t")]
        if len(cells) == len(columns):
            table.rows.append(dict(zip(columns, cells, strict=True)))


def _frame(table: Table) -> pd.DataFrame:
    frame = pd.DataFrame(table.rows, columns=[*table.columns], dtype=str).fillna("")
    key = table.key[0] if len(table.key) == 1 else ""
    if key in table.integers and key in frame and (frame[key] == "").all():
        frame[key] = [str(number) for number in range(1, len(frame) + 1)]  # the engine numbers them
    return frame.rename(columns=table.columns).astype(str)


def _references(tables: dict[str, Table], *, wide: bool) -> Iterator[Reference]:
    """Yield the keys of one column, or those of several, column by column."""
    for table in tables.values():
        for own, other, named in table.keys:
            target = tables.get(other.lower())
            keys = named or (target.key if target else [])
            if not target or len(own) != len(keys) or (len(own) > 1) != wide:
                continue
            for origin, key in zip(map(str.lower, own), map(str.lower, keys), strict=True):
                if key in target.columns and origin in table.columns:
                    yield Reference(
                        ColumnName(table.name, table.columns[origin]),
                        ColumnName(target.name, target.columns[key]),
                    )
