"""The recipe section `emit`, which selects the metadata that a run writes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

from pydantic import BeforeValidator, TypeAdapter, ValidationError, WithJsonSchema

from datahub_hyperjoin.bounds import Rate, Seconds
from datahub_hyperjoin.joins import RunSql
from datahub_hyperjoin.metadata.urns import NAMESPACE

_WEB_ADDRESS = re.compile(
    r"https?://(?:[\w.-]+|\[[0-9A-Fa-f:]+\])(?::\d+)?(?:/[\w.~-]+)*/?", re.ASCII
)
"""An address without a user, a password or a token."""


_FOLDER_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+]*://(?![^/]*:[^/]*@)|/)[^?#\x00-\x1f]*", re.ASCII)
"""An absolute path, or an address without a password or parameters."""


class LineageForm(str, Enum):
    """The form in which joins are written as lineage."""

    DASHED = "dashed"
    """Edges between tables and edges between columns. Impact analysis follows these edges. DataHub
    draws a dashed line between two tables. If `queries` is on, the line is solid and leads through
    a node for the SQL of the join."""
    COLUMNS = "columns"
    """Edges between columns only. By DataHub's metadata model, they are no lineage of tables."""

    @property
    def joins_tables(self) -> bool:
        """Whether lineage edges are written between tables as well as between columns."""
        return self is LineageForm.DASHED


_SCHEMA_OF_FORM = {"anyOf": [{"type": "boolean"}, {"enum": [form.value for form in LineageForm]}]}
"""The values that `lineage` takes in a recipe."""


def _read_form(written: object) -> object:
    """Convert the recipe's value of `lineage` to a form of lineage, or to `False`.

    Args:
        written: The value as written. `true` is the form that has edges between tables.
    """
    forms = [form.value for form in LineageForm]
    if isinstance(written, str) and written in forms:
        return LineageForm(written)
    if (switch := _read_switch(written)) is None:
        message = f"Write `false`, {' or '.join(f'`{form}`' for form in forms)}"
        raise ValueError(message)
    return LineageForm.DASHED if switch else False


class JoinChoice(str, Enum):
    """The joins that a kind of metadata takes."""

    ACCEPTED = "accepted"
    """Joins that people accepted."""
    DECLARED = "declared"
    """Also those that a foreign key, or a relationship of somebody else, declares."""
    SAFE = "safe"
    """Also those that are safe for agents and exports without a decision."""


_SCHEMA_OF_CHOICE = {"enum": [False, *(each.value for each in JoinChoice)]}


def _read_choice(written: object) -> object:
    """Convert a recipe's choice of joins to `JoinChoice`, or to `False`."""
    names = [each.value for each in JoinChoice]
    if isinstance(written, str) and written in names:
        return JoinChoice(written)
    if _read_switch(written) is not False:
        message = "Write `false`, `accepted`, `declared` or `safe`"
        raise ValueError(message)
    return False


def _read_switch(written: object) -> bool | None:
    """Read a yes-or-no setting, of which a variable makes a text; None for any other value."""
    try:
        return TypeAdapter(bool).validate_python(written)
    except ValidationError:
        return None


_Choice = Annotated[
    Literal[False] | JoinChoice, BeforeValidator(_read_choice), WithJsonSchema(_SCHEMA_OF_CHOICE)
]


@dataclass(frozen=True, kw_only=True, slots=True)
class EmitConfig:
    """Settings for the metadata that a run writes into DataHub."""

    relationships: bool = True
    """Whether each join is written as an `erModelRelationship`, with its evidence. Programs read
    joins from this layer."""

    properties: bool = True
    """Whether joins are written as structured properties of columns and datasets. People see them
    in the Columns tab and the sidebar of a dataset."""

    queries: bool = False
    """Whether each join is written as a `query` whose SQL was run on the data. DataHub shows it
    under the Highlighted Queries of both datasets."""

    documents: bool = False
    """Whether each dataset gets a `document` that says how to join it: its safe joins with their
    grain and SQL. The document is hidden from global search, and related to the dataset, where AI
    agents and people find it."""

    ai_context: bool = False
    """Whether each column gets instructions that tell AI agents which joins of the column are
    safe. Instructions that somebody else wrote are kept. DataHub stores instructions in the aspect
    `aiContext`, which servers have since release 1.7."""

    agents: bool = False
    """Preset for AI agents that read the catalog through DataHub's own MCP server, which shows
    neither relationships nor properties of columns. It turns on `queries`, `documents` and, where
    the server has it, `ai_context`, unless the recipe sets them."""

    files_at: str | None = None
    """Address of `catalog.folder` for those who read the SQL of joins, such as `s3://lake/exports`
    or `/mnt/lake`. By default, SQL opens files of the platforms `s3`, `gcs` and `abs` by the names
    of their datasets, as in `s3://bucket/folder/orders.csv`, and other files by their paths on the
    machine of the run."""

    run_sql: RunSql = RunSql.SHOWN
    """Joins whose SQL is run. `shown` means all if `queries` or `documents` show SQL in DataHub.
    For a `page` alone, it means joins of files on this machine and, in databases and Spark
    catalogs, the joins that the report lists; the page has the SQL of the others, marked as not
    run. `all` means all. `none` means none; then `queries` and `documents` show no SQL, because
    they show only what was run."""

    sql_timeout: Seconds = 60.0
    """Time limit of each SQL query, in seconds. The SQL of a join is run, read-only, if `queries`,
    `documents` or `page` show it; a join whose SQL takes longer is written without SQL."""

    lineage: Annotated[
        Literal[False] | LineageForm, BeforeValidator(_read_form), WithJsonSchema(_SCHEMA_OF_FORM)
    ] = False
    """Whether each join is written as lineage, from the unique column to the referring column.
    `dashed` writes edges between tables and edges between columns. DataHub draws the edges between
    tables dashed or, if `queries` is on, solid with the SQL of the join as a node. Impact analysis
    and lineage search treat the edges as data flows, so their results include tables that exchange
    no data. `columns` writes edges between columns only, which add no lineage to tables. `true`
    means `dashed`."""

    glossary_terms: bool = False
    """Whether each group of at least three columns whose values come from one set is written as a
    glossary term, which its columns carry. People may rename a term, or remove it from a column."""

    embed: str | None = None
    """Address of `hyperjoin serve` for browsers, such as `http://localhost:8766`. DataHub then
    shows the joins of each dataset in the dataset's Preview tab, unless somebody else already uses
    the tab."""

    semantic_models: _Choice = False
    """The joins that are written as `semanticModel`s, one for each schema or folder, for tools and
    agents that read DataHub's semantic layer. All of them are safe, too: a semantic layer joins
    by itself. `accepted` takes those that people accepted, `declared` also those that the catalog
    declares, and `safe` also those that nobody has decided about. A semantic model counts as
    downstream of its tables. DataHub has the entity since release 1.7."""

    watch: _Choice = False
    """The references that are watched: each becomes an assertion of the referring dataset, which
    fails once too few rows find their row in the other table. `accepted` watches those that people
    accepted, `declared` also those that the catalog declares, and `safe` also the safe ones that
    nobody has decided about. `hyperjoin watch` checks them without searching for joins."""

    watch_threshold: Rate | None = None
    """Least share of the rows with a value that must find their row, for all watched joins. By
    default, it is the share of the first check of each join, less half a percentage point."""

    watch_incidents: bool = False
    """Whether a watched join that breaks raises an incident of the referring dataset. The first run
    in which the join holds again resolves it."""

    namespace: str = NAMESPACE
    """Prefix of the structured properties' names. Change it if two pipelines of this source write
    into one catalog."""

    def __post_init__(self) -> None:
        """Reject an invalid `namespace`, an invalid `embed` or an invalid `files_at`."""
        if self.files_at is not None and not _FOLDER_ADDRESS.fullmatch(self.files_at):
            message = (
                "`files_at` is no address of a folder. Write a path or an address without password "
                "and parameters, as in `/mnt/lake` or `s3://lake/exports`"
            )
            raise ValueError(message)
        if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", self.namespace, re.ASCII):
            message = (
                f"`namespace` is {self.namespace!r}; use words of letters, digits, `_` and `-`, "
                "separated by dots"
            )
            raise ValueError(message)
        if self.embed is not None and not _WEB_ADDRESS.fullmatch(self.embed):
            message = (
                "`embed` is no address of a web site. Write scheme, host, port and path, as in "
                "`http://localhost:8766` or `https://datahub.example/joins`"
            )
            raise ValueError(message)


_FOR_AGENTS = ("queries", "documents", "ai_context")


def fill_for_agents(written: object) -> object:
    """If `emit.agents` is on, switch on the kinds of metadata that it implies.

    Args:
        written: The section as written, which is not validated yet.
    """
    if not isinstance(written, Mapping) or not _read_switch(written.get("agents")):
        return written
    return {**dict.fromkeys(_FOR_AGENTS, True), **written}
