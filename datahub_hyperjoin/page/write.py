"""Write the page from its template."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from datahub_hyperjoin.joins import Join, Suggestion
from datahub_hyperjoin.page.contents import list_contents
from datahub_hyperjoin.page.picture import draw_tables
from datahub_hyperjoin.tables import ColumnId, TableProfile


def write_page(
    path: Path,
    *,
    title: str,
    profiles: Sequence[TableProfile],
    keys: Sequence[ColumnId],
    suggestions: Sequence[Suggestion],
    joins: Sequence[Join],
) -> None:
    """Write the suggested joins as one HTML file.

    The page loads nothing from the network and contains no values of the tables. Equal arguments
    produce equal bytes.

    Args:
        path: Path of the file; missing folders are created.
        title: Heading of the page.
        profiles: Profiles of all tables, including those with an error.
        keys: The key columns.
        suggestions: The suggestions for the key columns.
        joins: The suggested joins, with evidence.
    """
    contents = list_contents(profiles, keys=keys, suggestions=suggestions, joins=joins)
    page = _environment().get_template("page.html.j2")
    text = page.render(
        title=title,
        contents=contents,
        picture=draw_tables(contents),
        counts={
            "tables": len(profiles),
            "columns": sum(len(profile.columns) for profile in profiles),
            "key columns": len(keys),
            "joins": len(joins),
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
