"""Resolve the table names in a SQL statement to tables of the catalog."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from sqlglot import exp

from datahub_hyperjoin.tables import TableId

Name = tuple[str, ...]
"""The parts of a table's name in SQL, the outermost first."""


class TableLookup:
    """A lookup of the catalog's tables by their names in SQL.

    SQL always omits the platform instance and often the database or the schema. So a name resolves
    to the table whose full name ends with it, if exactly one table's does; an exact match is tried
    before one that ignores case.
    """

    def __init__(self, columns: Mapping[TableId, Iterable[str]]) -> None:
        self._columns = {table: tuple(sorted(paths)) for table, paths in columns.items()}
        self._by_last_part: defaultdict[tuple[str, str], list[TableId]] = defaultdict(list)
        for table in sorted(self._columns):
            last = table.name.rpartition(".")[2].casefold()
            self._by_last_part[table.platform, last].append(table)

    def find(self, platform: str, parts: Name, subjects: frozenset[TableId]) -> TableId | None:
        """Return the table that a SQL name refers to; tables in `subjects` take precedence.

        Returns:
            None if no table or more than one matches the name.
        """
        tables = self._by_last_part.get((platform, parts[-1].casefold()), [])
        for candidates in ([table for table in tables if table in subjects], tables):
            for fold in (str, str.casefold):
                wanted = tuple(fold(part) for part in parts)
                matches = [table for table in candidates if _ends_match(fold(table.name), wanted)]
                if len(matches) == 1:
                    return matches[0]
        return None

    def columns(self, table: TableId) -> tuple[str, ...]:
        """Return the paths of a table's columns."""
        return self._columns.get(table, ())


def _ends_match(name: str, parts: Name) -> bool:
    """Return whether one of two dotted names ends with the other.

    SQL may also give more parts than the catalog, for example the name of a Spark catalog.
    """
    own_parts = tuple(name.split("."))
    shared = min(len(own_parts), len(parts))
    return own_parts[-shared:] == parts[-shared:]


def rename_tables(
    statement: exp.Expr, find: Callable[[Name], TableId | None]
) -> dict[str, TableId]:
    """Give each table in a SQL statement a unique name, and map the name to the table.

    The new name has no schema or database. DataHub's parser needs complete names, all with the same
    number of parts; unique names of one part fulfil this on every platform. A table without an
    alias gets its old name as the alias, so columns that are qualified by it still refer to the
    table. Columns that are qualified by a schema as well lose it, because an alias has no schema.
    """
    tables, original_names = {}, set()
    # All tables are collected first, because renaming changes the tree that is searched.
    for number, table in enumerate(list(statement.find_all(exp.Table))):
        # BigQuery quotes several parts as one, as in `project.dataset.table`.
        parts = tuple(".".join(part.name for part in table.parts).split("."))
        if not parts[-1] or isinstance(table.this, exp.Func) or _is_defined_within(table):
            continue
        original_names.add(tuple(part.casefold() for part in parts[-2:]))
        name = f"hyperjoin_table_{number}"
        _rename(table, name)
        resolved = find(parts)
        if resolved:
            tables[name] = resolved
    for column in statement.find_all(exp.Column):
        if (column.db.casefold(), column.table.casefold()) in original_names:
            _clear_qualifiers(column)
    return tables


def _rename(table: exp.Table, name: str) -> None:
    if not table.alias and isinstance(table.parent, exp.From | exp.Join):
        table.set("alias", exp.TableAlias(this=table.parts[-1].copy()))
    table.set("this", exp.to_identifier(name, quoted=True))
    _clear_qualifiers(table)


def _clear_qualifiers(node: exp.Table | exp.Column) -> None:
    node.set("db", None)
    node.set("catalog", None)


def _is_defined_within(table: exp.Table) -> bool:
    """Return whether a table name in SQL refers to a common table expression.

    Walks up from the name and looks at the `WITH` clause of each enclosing node. A name inside the
    expression of the same name refers to the real table, as in `WITH orders AS (SELECT * FROM
    orders)`, so the clause that contains that expression is skipped.
    """
    if table.db:
        return False
    name, node, own_clause = table.name.casefold(), table.parent, None
    while node:
        if isinstance(node, exp.CTE) and node.alias.casefold() == name:
            own_clause = node.parent
        clause = node.args.get("with_") or node.args.get("with")  # depends on sqlglot's release
        expressions = clause.expressions if clause and clause is not own_clause else []
        if any(expression.alias.casefold() == name for expression in expressions):
            return True
        node = node.parent
    return False
