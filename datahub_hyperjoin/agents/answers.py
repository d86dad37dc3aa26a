"""Build the answers that agents get about joins.

An answer first says whether a safe join is known. It never offers a guess.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count

from datahub.sql_parsing.sqlglot_utils import get_dialect
from sqlglot import Dialect, exp

from datahub_hyperjoin.agents.limit import Answer, add_entries
from datahub_hyperjoin.joins import FILE_DIALECT, Join, reasons_unsafe
from datahub_hyperjoin.joins.describe import Phrases, describe, summarize
from datahub_hyperjoin.names import escape_for_quotes
from datahub_hyperjoin.tables import ColumnId, TableId

# Nobody has run the statement, so it is only for joins whose tested SQL the catalog does not hold.

_FILES = "file"
"""The platform whose tables are files, which DuckDB reads by their paths."""

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
"""Names that need no quotes. DataHub converts table and column names of some databases to lower
case; SQL finds the converted names only without quotes."""

_Pairs = Sequence[tuple[ColumnId, ColumnId]]


def write_path_sql(joins: Sequence[Join]) -> str:
    """Write SQL for a path of joins, with the table and column names from the catalog.

    Args:
        joins: The joins in order, each with the table on the left that the path reaches first.

    Returns:
        The statement; empty if values must be converted before they are equal, if a column may be a
        member of a struct, or if the tables are in several systems.
    """
    tables = [table for join in joins for table in join.tables]
    columns = [column for _, pairs in _steps(joins) for pair in pairs for column in pair]
    if (
        any(join.compared_as for join in joins)
        or any("." in column.path for column in columns)
        or len({table.platform for table in tables}) > 1
    ):
        return ""
    return _write(joins, _dialect(tables[0].platform))


def _write(joins: Sequence[Join], dialect: Dialect) -> str:
    aliases = (f"t{number}" for number in count(1))
    first = joins[0].left.table
    alias_of = {first: next(aliases)}
    statement = exp.select("*").from_(_table(first, alias_of[first], dialect))
    for table, pairs in _steps(joins):
        alias = next(aliases)
        equal = [
            exp.EQ(
                this=_column(one, alias_of[one.table], dialect),
                expression=_column(other, alias, dialect),
            )
            for one, other in pairs
        ]
        statement = statement.join(_table(table, alias, dialect), on=exp.and_(*equal))
        alias_of[table] = alias
    return statement.sql(dialect=dialect)


def _steps(joins: Sequence[Join]) -> Iterator[tuple[TableId, _Pairs]]:
    """Yield the second and later tables of a path, each with its pairs to the previous table.

    A crosswalk is a table of its own.
    """
    for join in joins:
        if join.via:
            into, out = join.via
            yield into.table, [(join.left, into)]
            yield join.right.table, [(out, join.right)]
        else:
            yield join.right.table, join.pairs


def _column(column: ColumnId, alias: str, dialect: Dialect) -> exp.Column:
    return exp.Column(this=_name(column.path, dialect), table=exp.to_identifier(alias))


def _table(table: TableId, alias: str, dialect: Dialect) -> exp.Table:
    parts = [table.name] if table.platform == _FILES else table.name.split(".")
    first, *others = (_name(part, dialect) for part in parts)
    named = exp.Dot.build([first, *others]) if others else first
    return exp.Table(this=named, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _name(name: str, dialect: Dialect) -> exp.Identifier:
    kind = type(dialect)
    plain = _PLAIN.fullmatch(name) and name.upper() not in _keywords(kind)
    return exp.to_identifier(escape_for_quotes(name, kind.__name__.lower()), quoted=not plain)


@cache
def _keywords(dialect: type[Dialect]) -> frozenset[str]:
    # Key words such as ORDER are listed as parts of phrases.
    return frozenset(" ".join(dialect.tokenizer_class.KEYWORDS).split())


def _dialect(platform: str) -> Dialect:
    """Return the SQL dialect of a platform, or standard SQL for an unknown platform."""
    if platform == _FILES:
        return Dialect.get_or_raise(FILE_DIALECT)
    try:
        return get_dialect(platform)
    except ValueError:
        return Dialect()


NO_SAFE_JOIN = "no safe join known"
CHOOSE = "choose one"

ASK = "Do not join them on a guess: ask the user, or a person who may accept a join"
_CHOOSE = "Joins marked `choose` give other rows than each other. Ask the user which one is meant"
_SQL_IS_TESTED = "tested: it returned the expected rows when a run wrote it"
_SQL_IS_WRITTEN = (
    "not run: check its number of rows, because values may differ in case, spaces or type"
)
_NO_SQL = "none: the values must be converted, or the datasets are in several systems"

Statements = Mapping[str, str]
"""Tested SQL, by the URN of the join."""


def list_joins_of(name: str, joins: Sequence[Join], *, min_score: float, skip: int = 0) -> Answer:
    """Build the answer that lists a dataset's joins, safe joins first.

    Args:
        joins: Its joins, best first, with the dataset on the left.
    """
    ordered = sorted(
        list_with_reasons(joins, min_score=min_score), key=lambda words: "unsafe" in words
    )
    safe = sum("unsafe" not in words for words in ordered)
    answer: Answer = {
        "answer": _count(safe),
        "of": name,
        "unsafe": len(joins) - safe,
    }
    return add_entries(answer, "joins", ordered, skip=skip)


def _count(safe: int) -> str:
    return {0: NO_SAFE_JOIN, 1: "1 safe join"}.get(safe, f"{safe} safe joins")


def list_with_reasons(joins: Sequence[Join], *, min_score: float) -> list[Phrases]:
    """Summarise each join, with any reasons why it is not safe."""
    return [_listed(join, reasons_unsafe(join, min_score=min_score)) for join in joins]


def _listed(join: Join, reasons: Sequence[str]) -> Phrases:
    return {**summarize(join), **({"unsafe": "; ".join(reasons)} if reasons else {})}


def suggest_safe_joins(
    name: str, safe: Sequence[Join], statements: Statements, *, skip: int = 0
) -> Answer:
    """Build the answer that describes a dataset's safe joins, with their SQL.

    Args:
        safe: Safe joins, best first, with the dataset on the left.
    """
    rivals = Counter(map(_ends, safe))
    answer: Answer = {"answer": _count(len(safe)), "of": name}
    if max(rivals.values()) > 1:
        is_only_question = len(rivals) == 1
        answer |= {"answer": CHOOSE if is_only_question else answer["answer"], "next": _CHOOSE}
    entries = [_detailed(join, statements, rivals[_ends(join)]) for join in safe]
    return add_entries(answer, "joins", entries, skip=skip)


def _ends(join: Join) -> tuple[TableId, bool]:
    """Return a join's right table, and whether each left row matches at most one right row.

    A person has to choose among safe joins that agree in both.
    """
    return join.right.table, join.to_one


def _detailed(join: Join, statements: Statements, rivals: int) -> Answer:
    choice = {"choose": f"{rivals} safe joins with this dataset"} if rivals > 1 else {}
    return {**describe(join), **choice, **sql_of([join], statements)}


def sql_of(joins: Sequence[Join], statements: Statements) -> Answer:
    """Return the SQL of a path of joins, and say whether that SQL was tested.

    Returns:
        One tested statement for each join. If the catalog does not hold all of them, one statement
        for the path that was not run, or none.
    """
    tested = [statements[join.urn] for join in joins if join.urn in statements]
    if len(tested) == len(joins):
        return {"sql": tested, "sql_is": _SQL_IS_TESTED}
    written = write_path_sql(joins)
    return {"sql": written, "sql_is": _SQL_IS_WRITTEN} if written else {"sql_is": _NO_SQL}


def answer_none_safe(name: str, joins: Sequence[Join], *, min_score: float) -> Answer:
    """Build the answer that none of the joins is safe, with the reasons."""
    answer: Answer = {"answer": NO_SAFE_JOIN, "of": name, "next": ASK}
    return add_entries(answer, "unsafe", list_with_reasons(joins, min_score=min_score))


def assess_join(join: Join, statements: Statements, *, min_score: float) -> Answer:
    """Build the answer about one join: its safety and its description."""
    reasons = reasons_unsafe(join, min_score=min_score)
    if reasons:
        verdict = {"answer": "not safe", "unsafe": "; ".join(reasons), "next": ASK}
        return {**verdict, **describe(join), "urn": join.urn}
    return {"answer": "safe", **describe(join), **sql_of([join], statements), "urn": join.urn}
