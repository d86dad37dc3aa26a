"""Write the HTML page from its template."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from datahub_hyperjoin.decision_file import FiledDecision
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import (
    Role,
    lone_joins,
)
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.page.contents import Contents, JoinRow, list_contents
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.visible import unseen_in_javascript, visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPage:
    """The parts of the page that a web service adds for the person who signed in."""

    nonce: str
    """The secret that marks the page's own scripts and styles, for the Content-Security-Policy."""

    csrf: str
    person: str
    urns: tuple[str, ...]

    verdicts: tuple[str, ...]
    """Decision about each join, `accepted` or `rejected`; empty if nobody has decided."""

    queue: str = ""
    """What the address of the queue has behind its path: the filter for a dataset, if any."""

    focus: int = -1
    """Index of the table that the page is about; -1 if it is about all."""

    signs_out: bool = True
    """Whether the page has a button to sign out; without one, the person signs out of DataHub."""


_Row = tuple[str, tuple[str, ...], str, tuple[str, ...], str, str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDecisions:
    """People's decisions, which the page shows and offers for download."""

    file: str
    """Name of the file that the page downloads, which ends in `.csv` or `.json`."""

    rows: tuple[_Row, ...]
    """One row for each decision: first the fields as written in the file (left table and columns,
    right table and columns, decision, author, reason, time), then the names of both tables on the
    page."""

    urns: dict[int, str]
    """URN of each table whose name is not unique on the page, by the table's index."""

    damaged: tuple[str, ...] = ()
    """The lines of the file that hold no decision, as they are written."""


def list_decisions(
    filed: Sequence[FiledDecision],
    tables: Sequence[TableId],
    file: str,
    damaged: Sequence[str] = (),
) -> PageDecisions:
    """Convert the decisions from a file into rows of the page."""
    counts = Counter(table.name for table in tables)
    urns = {number: dataset_urn(t) for number, t in enumerate(tables) if counts[t.name] > 1}
    names: dict[TableId | None, str] = {
        table: urns.get(number, table.name) for number, table in enumerate(tables)
    }
    rows = tuple(
        (
            *astuple(each.written)[:-1],  # all but the place
            # A table that the page does not show keeps the name that the file gives it.
            names.get(each.left, each.written.left_table),
            names.get(each.right, each.written.right_table),
        )
        for each in filed
    )
    return PageDecisions(file=file, rows=rows, urns=urns, damaged=tuple(damaged))


def write_page(
    path: Path,
    found: Findings,
    *,
    filed: Sequence[FiledDecision] = (),
    file: str = "decisions.csv",
    damaged: Sequence[str] = (),
    values: bool = False,
) -> None:
    """Write the suggested joins, and the decisions about them (`filed`), as one HTML file.

    The page loads nothing from the network, and contains values of the tables only on request; then
    only its owner can read the file. Equal arguments produce equal bytes.

    Args:
        path: Path of the file; missing folders are created.
        found: The findings. Of the joins in two steps, the page adds those without a direct join.
        filed: The decisions of the recipe's file, which the page shows and downloads again.
        file: Name of the file of decisions that the page downloads.
        damaged: Lines of the recipe's file that hold no decision, which the page downloads again.
        values: Whether the page shows a few values of the joined columns, except personal ones.
    """
    profiles, joins = found.profiles, found.joins
    lone = [*lone_joins(found.crosswalks, joins)]
    contents = list_contents(
        profiles,
        keys=found.keys,
        suggestions=found.suggestions,
        joins=joins,
        declared=found.declared,
        copies=found.copies,
        lone=lone,
        statements=found.statements,
        contributions=found.contributions,
        derived=found.derived,
        values=values,
    )
    follow = sum(found.derived_counts.values())
    readable = [profile.table.id for profile in profiles if not profile.fault]
    text = render_page(
        contents,
        title="Suggested joins",
        counts={
            "tables": len(readable),
            "columns": sum(len(profile.columns) for profile in profiles),
            "key columns": len(found.keys),
            "joins": len(joins),
            "references": sum(join.role is Role.REFERENCE for join in joins),
            **({"further joins in two steps": len(lone)} if lone else {}),
            **({"joins that follow, not listed": follow} if follow else {}),
        },
        errors=sorted((str(profile.table.id), profile.fault) for profile in profiles),
        decisions=list_decisions(filed, sorted(readable), file, damaged)
        if joins or lone or filed
        else None,
    )
    with replacing(path, private=values) as unfinished:
        # In JSON, the escape of half a character, which UTF-8 cannot hold, stands for it.
        unfinished.write_text(f"{text}\n", "utf-8", errors="backslashreplace", newline="\n")


def render_page(
    contents: Contents,
    *,
    title: str,
    counts: Mapping[str, int],
    errors: Sequence[tuple[str, str]] = (),
    served: ServedPage | None = None,
    decisions: PageDecisions | None = None,
) -> str:
    """Render the HTML page of the joins, for a file or for a web service (`served`)."""
    values = {"contents": contents, "counts": counts, "errors": errors, "served": served}
    return render_template("page.html.j2", title=title, decisions=decisions, **values)


def render_template(name: str, **values: object) -> str:
    """Render one of this package's templates."""
    return _environment().get_template(name).render(**values)


@cache  # the service would otherwise compile the templates for every answer
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("datahub_hyperjoin", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names are made visible. Marked-up text, such as the data of the scripts, stays exact.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    environment.filters["thousands"] = "{:,}".format
    environment.filters["record"] = lambda it: {f.name: getattr(it, f.name) for f in fields(it)}
    environment.globals["join_fields"] = JoinRow._fields
    environment.globals["unseen"] = unseen_in_javascript()
    return environment
