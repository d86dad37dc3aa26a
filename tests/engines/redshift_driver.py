"""Lead Redshift's SQLAlchemy dialect to a PostgreSQL server, and translate its SQL.

`redshift+local://...` is the URL of a PostgreSQL server of version 15 or later. `sqlglot`
translates each query. What Redshift refuses is refused here, too, as far as its documentation
tells. Importing this module lets SQLAlchemy know such URLs.
"""

import re
from functools import lru_cache
from typing import Any, ClassVar

from psycopg2 import ProgrammingError
from sqlalchemy import URL
from sqlalchemy.dialects import registry
from sqlalchemy_redshift.dialect import RedshiftDialect_psycopg2
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from engines.redshift_functions import own_schema
from engines.sql_corrections import Corrections, corrected

_TYPES = (
    "CASE replace(format_type(a.atttypid, a.atttypmod), n.nspname || '_own.', '') "
    "WHEN 'varbyte' THEN 'binary varying(1024)' WHEN 'text' THEN 'character varying(256)' "
    "ELSE replace(format_type(a.atttypid, a.atttypmod), n.nspname || '_own.', '') END"
)
_NAMES = "c.oid AS rel_oid, c.relname, c.relkind, n.nspname AS schema, n.oid AS schema_oid"
_RELATIONS = (
    f"SELECT {_NAMES} FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'v')"
)
_COLUMNS = (
    "SELECT n.nspname AS schema, c.relname AS table_name, a.attname AS name, "
    f'NULL AS encode, {_TYPES} AS format_type, NULL AS "default", a.attnotnull AS notnull, '
    "NULL AS comment, a.attnum FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "WHERE c.relkind IN ('r', 'v')"
)
_CONSTRAINTS = (
    "SELECT n.nspname AS schema, c.relname AS table_name, t.contype, t.conname, t.conkey, "
    "a.attnum, a.attname, pg_get_constraintdef(t.oid, true) AS condef "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_constraint t ON t.conrelid = c.oid "
    "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(t.conkey) WHERE true"
)
_CATALOG = {
    "svv_external_tables": (_RELATIONS, ""),
    "format_encoding": (_COLUMNS, " ORDER BY a.attnum"),
    "pg_constraint": (_CONSTRAINTS, ""),
}
"""What PostgreSQL's catalog is asked instead of Redshift's, by a word of the dialect's query."""


class _RefusedError(ProgrammingError):  # type: ignore[misc] # without types
    """An error of a statement that Redshift would refuse."""


def _list(node: exp.WithinGroup) -> exp.Expr:
    """Return the call of LISTAGG as PostgreSQL writes it."""
    call, order = node.this, node.expression
    if not isinstance(call, exp.GroupConcat):
        return node
    separator = call.args.get("separator") or exp.Literal.string("")
    sorted_ = exp.Order(this=separator, expressions=order.expressions)
    return exp.Anonymous(this="listagg", expressions=[call.this, sorted_])


def _collate(node: exp.Collate) -> exp.Expr:
    """Return a text that is compared by its bytes."""
    if node.expression.name != "case_sensitive":
        message = f"unknown collation {node.expression.name}"
        raise _RefusedError(message)
    return exp.Collate(this=exp.paren(node.this), expression=exp.to_identifier("C", quoted=True))


def _replace(node: exp.RegexpReplace) -> exp.Expr:
    r"""Return a replacement everywhere, with groups such as `\1`."""
    _require_perl(node)
    groups = exp.Literal.string(node.args["replacement"].name.replace("$", "\\"))
    values = [node.this, node.expression, groups, exp.Literal.string("g")]
    return exp.Anonymous(this="regexp_replace", expressions=values)


def _find(node: exp.RegexpInstr) -> exp.Expr:
    """Return the place of a match."""
    _require_perl(node)
    return exp.Anonymous(this="regexp_instr", expressions=[node.this, node.expression])


def _require_perl(node: exp.RegexpReplace | exp.RegexpInstr) -> None:
    # Other patterns are those of POSIX, which have no silent groups.
    modifiers = [each.name for each in node.iter_expressions() if isinstance(each, exp.Literal)]
    if modifiers[-1] != "p" or not isinstance(node.expression, exp.Literal):
        message = f"no pattern of PCRE: {node.sql('redshift')}"
        raise _RefusedError(message)


_CORRECTIONS: Corrections = {
    exp.Collate: _collate,
    exp.RegexpInstr: _find,
    exp.RegexpReplace: _replace,
    exp.WithinGroup: _list,
}
"""What `sqlglot` translates to something else than Redshift means, and how it is corrected."""


def _refuse(statement: str, tree: exp.Expr) -> None:
    """Raise an error for what Redshift does not know, but PostgreSQL or `sqlglot` does."""
    orders = {each.expression.sql() for each in tree.find_all(exp.WithinGroup)}
    windows = [
        each
        for each in tree.find_all(exp.Window)
        if isinstance(each.this, exp.AggFunc) and each.args.get("order")
    ]
    ranking = (exp.RowNumber, exp.Lag)
    faults = {
        "a clause FILTER": tree.find(exp.Filter),
        "several orders of LISTAGG": len(orders) > 1,
        "LISTAGG without an order": any(
            not isinstance(each.parent, exp.WithinGroup) for each in tree.find_all(exp.GroupConcat)
        ),
        "LISTAGG without a table": orders and not tree.find(exp.Table),
        "a window without a frame": any(
            not each.args.get("spec") for each in windows if not isinstance(each.this, ranking)
        ),
        "SUBSTR on a compute node": re.search(r"(?i)\bsubstr\(", statement),
        "CONCAT of other than two texts": any(
            len(each.expressions) != 2 for each in tree.find_all(exp.Concat)
        ),
        "an array": tree.find(exp.Array, exp.ArrayAgg),
        "DISTINCT beside LISTAGG": orders and tree.find(exp.Distinct),
    }
    if found := [fault for fault, is_there in faults.items() if is_there]:
        message = f"Redshift knows not: {', '.join(found)}"
        raise _RefusedError(message)


def _disregard_ends(tree: exp.Expr) -> None:
    """Let groups disregard spaces at the end of texts, as Redshift does."""
    for select in tree.find_all(exp.Select):
        for expression in getattr(select.args.get("group"), "expressions", ()):
            if isinstance(expression, exp.Literal):
                # The place of a column, of which any value stands for the group.
                value = select.selects[int(expression.name) - 1].this
                expression.replace(_call("without_end", value))
                value.replace(_call("any_of", value))
            elif isinstance(expression, exp.Case):
                expression.replace(_call("without_end", expression))


def _call(function: str, value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=[value.copy()])


@lru_cache(64)
def translated(statement: str) -> str:
    """Write a query of Redshift in PostgreSQL's SQL.

    Raises:
        ProgrammingError: Redshift would refuse the query.
    """
    try:
        tree = parse_one(statement, read="redshift")
    except SqlglotError as error:
        raise _RefusedError(str(error)) from None
    _refuse(statement, tree)
    _disregard_ends(tree)
    return corrected(tree, _CORRECTIONS).sql("postgres")


def _of_catalog(statement: str) -> str | None:
    """Return the query that PostgreSQL's catalog answers, if a statement asks for Redshift's."""
    for word, (query, order) in _CATALOG.items():
        if "svv_external" in statement and word in statement:
            schema = re.search(r"AND schema = ('.*?') ", statement)
            name = re.search(r"AND (?:table_name|relname) = ('.*')\s+UNION", statement)
            conditions = [f" AND n.nspname = {schema[1]}"] if schema else []
            conditions += [f" AND c.relname = {name[1]}"] if name else []
            return f"{query}{''.join(conditions)}{order}"
    return None


class LocalRedshift(RedshiftDialect_psycopg2):  # type: ignore[misc] # without types
    """The dialect that runs use, with another server."""

    supports_statement_cache = False
    options: ClassVar = ("-cextra_float_digits=0", "-ctimezone=America/New_York")
    """Settings of the server, under which it writes floats as Redshift does."""

    def create_connect_args(self, url: URL) -> Any:  # noqa: ANN401 (for SQLAlchemy)
        schema = url.query.get("schema")
        options = [*self.options]
        if isinstance(schema, str):
            options.append(f"-csearch_path={schema},{own_schema(schema)}")
        # PostgreSQL's certificate is not one of Amazon's.
        positional, named = super().create_connect_args(url.difference_update_query(["schema"]))
        named = {name: value for name, value in named.items() if not name.startswith("ssl")}
        return positional, {**named, "options": " ".join(options)}

    def _get_server_version_info(self, connection: object) -> tuple[int, ...]:
        del connection
        return (8, 0, 2)

    def do_execute(
        self,
        cursor: Any,  # noqa: ANN401 (for SQLAlchemy)
        statement: str,
        parameters: object,
        context: object = None,
    ) -> None:
        del context
        sent = cursor.mogrify(statement, parameters).decode()
        if instead := _of_catalog(sent):
            sent = instead
        elif " FROM " in sent.replace("\n", " ") and "pg_catalog" not in sent:
            sent = translated(sent)
        cursor.execute(sent)


registry.register("redshift.local", __name__, "LocalRedshift")
