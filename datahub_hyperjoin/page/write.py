"""Write the HTML page from its template."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined

from datahub_hyperjoin.joins import Join, Role, Suggestion
from datahub_hyperjoin.page.contents import list_contents
from datahub_hyperjoin.page.picture import draw_tables
from datahub_hyperjoin.statements import JoinedColumns, Statement
from datahub_hyperjoin.tables import ColumnId, TableProfile

_TITLE = "Suggested joins"


def write_page(
    path: Path,
    *,
    profiles: Sequence[TableProfile],
    keys: Sequence[ColumnId],
    suggestions: Sequence[Suggestion],
    joins: Sequence[Join],
    statements: Mapping[JoinedColumns, Statement] = MappingProxyType({}),
) -> None:
    """Write the suggested joins as one HTML file.

    The page loads nothing from the network and contains no values of the tables. Equal arguments
    produce equal bytes.

    Args:
        path: Path of the file; missing folders are created.
        profiles: Profiles of all tables, including those with an error.
        keys: The key columns.
        suggestions: The suggestions for the key columns.
        joins: The suggested joins, with evidence, also those that only a crosswalk connects.
        statements: The SQL of joins, or the reasons why they have none.
    """
    contents = list_contents(
        profiles, keys=keys, suggestions=suggestions, joins=joins, statements=statements
    )
    page = _environment().get_template("page.html.j2")
    text = page.render(
        title=_TITLE,
        contents=contents,
        picture=draw_tables(contents),
        counts={
            "tables": len(profiles),
            "columns": sum(len(profile.columns) for profile in profiles),
            "key columns": len(keys),
            "joins": len(joins),
            "references": sum(join.role is Role.REFERENCE for join in joins),
            **({"joins in two steps": len(contents.crosswalks)} if contents.crosswalks else {}),
        },
        errors=sorted((str(profile.table.id), profile.fault) for profile in profiles),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("datahub_hyperjoin", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    environment.filters["thousands"] = "{:,}".format
    return environment
