"""Write the HTML page from its template."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined

from datahub_hyperjoin.joins import Join, Role, Suggestion
from datahub_hyperjoin.page.contents import Contents, list_contents
from datahub_hyperjoin.page.picture import draw_tables
from datahub_hyperjoin.page.served import ServedPage
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
    text = render_page(
        contents,
        title=_TITLE,
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


def render_page(
    contents: Contents,
    *,
    title: str,
    counts: Mapping[str, int],
    errors: Sequence[tuple[str, str]] = (),
    served: ServedPage | None = None,
) -> str:
    """Render the page.

    Args:
        contents: Tables, columns and joins.
        title: Title of the page.
        counts: Numbers in the page's head, by their names.
        errors: Each table with its error; empty for a table without one.
        served: What a web service adds; None for a file.

    Returns:
        HTML.
    """
    return render_template(
        "page.html.j2",
        title=title,
        contents=contents,
        picture=draw_tables(contents),
        counts=counts,
        errors=errors,
        served=served,
    )


def render_template(name: str, **values: object) -> str:
    """Render a template of this package.

    Args:
        name: File of the template.
        values: Values of all its variables.

    Returns:
        HTML, in which all values are escaped.
    """
    return _environment().get_template(name).render(**values)


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
