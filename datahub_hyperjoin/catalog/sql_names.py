"""Which tables the names in a SQL statement mean."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from sqlglot import exp

from datahub_hyperjoin.tables import TableId

Name = tuple[str, ...]
"""A table's name as SQL writes it, the outermost part first."""


class Schemas:
    """The tables of a platform by the names that SQL may call them.

    SQL leaves out the database or the schema, and the platform instance always; so a table answers
    to every end of its name, whatever the case, if no other does.
    """

    def __init__(self, columns: Mapping[TableId, Iterable[str]]) -> None:
        self._columns = {table: tuple(sorted(paths)) for table, paths in columns.items()}
        self._by_last: defaultdict[tuple[str, str], list[TableId]] = defaultdict(list)
        for table in sorted(self._columns):
            last = table.name.rpartition(".")[2].casefold()
            self._by_last[table.platform, last].append(table)

    def find(self, platform: str, parts: Name, subjects: frozenset[TableId]) -> TableId | None:
        """The table that a name in SQL means.

        Args:
            platform: Where the statement runs.
            parts: The name, with as many of its outer parts as are given.
            subjects: The tables that the statement is known to be about; they come first.

        Returns:
            None, if no table or more than one answers to the name.
        """
        known = self._by_last.get((platform, parts[-1].casefold()), [])
        for candidates in ([one for one in known if one in subjects], known):
            for fold in (str, str.casefold):
                wanted = tuple(fold(part) for part in parts)
                found = [one for one in candidates if _end_alike(fold(one.name), wanted)]
                if len(found) == 1:
                    return found[0]
        return None

    def columns(self, table: TableId) -> tuple[str, ...]:
        """The paths of a table's columns.

        Args:
            table: Which table.

        Returns:
            Nothing for a table that is not known.
        """
        return self._columns.get(table, ())


def _end_alike(name: str, parts: Name) -> bool:
    own = tuple(name.split("."))
    shared = min(len(own), len(parts))
    return own[-shared:] == parts[-shared:]


def rename_tables(
    statement: exp.Expr, find: Callable[[Name], TableId | None]
) -> dict[str, TableId]:
    """Gives each table of a statement a short name, all of them with as many parts: one.

    Columns keep finding their tables, which are aliased to what they were called before.

    Args:
        statement: What is changed.
        find: The table that a name means.

    Returns:
        The tables that are known, by their new names.
    """
    tables, written = {}, set()
    for number, table in enumerate(list(statement.find_all(exp.Table))):
        parts = tuple(".".join(part.name for part in table.parts).split("."))
        if not parts[-1] or isinstance(table.this, exp.Func) or _is_defined_within(table):
            continue
        written.add(tuple(part.casefold() for part in parts[-2:]))
        name = f"hyperjoin_table_{number}"
        _rename(table, name)
        found = find(parts)
        if found:
            tables[name] = found
    for column in statement.find_all(exp.Column):
        if (column.db.casefold(), column.table.casefold()) in written:
            _clear_home(column)
    return tables


def _rename(table: exp.Table, name: str) -> None:
    if not table.alias and isinstance(table.parent, exp.From | exp.Join):
        table.set("alias", exp.TableAlias(this=table.parts[-1].copy()))
    table.set("this", exp.to_identifier(name, quoted=True))
    _clear_home(table)


def _clear_home(named: exp.Table | exp.Column) -> None:
    named.set("db", None)
    named.set("catalog", None)


def _is_defined_within(table: exp.Table) -> bool:
    """Whether the name is that of a common table expression.

    What such an expression reads under its own name is the table that it refines.
    """
    if table.db:
        return False
    name, place, refining = table.name.casefold(), table.parent, None
    while place:
        if isinstance(place, exp.CTE) and place.alias.casefold() == name:
            refining = place.parent
        clause = place.args.get("with_") or place.args.get("with")  # differs between releases
        defined = clause.expressions if clause and clause is not refining else []
        if any(one.alias.casefold() == name for one in defined):
            return True
        place = place.parent
    return False
