"""Count the joins that agents get from DataHub's own MCP server.

Run it from a checkout: `make bench-agents LAKE=FOLDER SCHEMA=FOLDER SERVER=COMMAND`. LAKE is a
labelled lake with a file `references.csv` of directed foreign keys; the quick start's lake is the
other one. SCHEMA is the folder `datahub-graphql-core/src/main/resources` of a checkout of DataHub.
SERVER is the command `mcp-server-datahub`, which needs an environment of its own, because it needs
an older `mcp`.

Each lake is ingested with `emit.agents` into a test double of DataHub's server, which answers over
DataHub's own GraphQL schema. The real MCP server runs on the double, and is asked which join
connects two tables. An answer counts if all known joins of the two tables arrive within two calls
and 4,000 tokens.
"""

import argparse
import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters
from tabulate import tabulate

from benchmarks.agents.catalog import fill_catalog
from benchmarks.agents.questions import (
    Question,
    draw_questions,
    read_known_joins,
    read_references,
)
from benchmarks.agents.routes import ROUTES, Conversation, Route
from datahub_hyperjoin.demo import write_lake
from datahub_hyperjoin.graphql import all_joins
from datahub_hyperjoin.tables import ColumnId
from gms import Gms

_MOST_CALLS, _MOST_TOKENS = 2, 4_000
_KNOWN_JOINS = Path(__file__).parents[1] / "known_joins.csv"


@dataclass(frozen=True)
class Outcome:
    """The result of asking one question by one route, which is a fixed sequence of tool calls."""

    question: Question
    route: str
    calls: int
    tokens: int
    arrived: bool
    """Whether the answers named all needed joins, however many calls and tokens it took."""

    published: bool
    """Whether the catalog has all needed joins."""

    @property
    def is_counted(self) -> bool:
        """Whether all needed joins arrived within the limits on calls and tokens."""
        return self.arrived and self.calls <= _MOST_CALLS and self.tokens <= _MOST_TOKENS


def ask_about(
    folder: Path, questions: Sequence[Question], *, schema: Path, server: str
) -> list[Outcome]:
    """Ingest a lake, and ask each question about it by every route.

    Args:
        folder: The tables.
        questions: The questions.
        schema: DataHub's GraphQL schema, a folder of files.
        server: The command `mcp-server-datahub`.
    """
    with Gms(schema=schema) as gms:
        fill_catalog(gms, folder)
        published = {frozenset(pair) for join in all_joins(gms.graph()) for pair in join.pairs}
        environment = {
            "DATAHUB_GMS_URL": gms.url,
            "DATAHUB_TELEMETRY_ENABLED": "false",
            "LOGURU_LEVEL": "CRITICAL",
            "PATH": os.environ["PATH"],
        }
        parameters = StdioServerParameters(command=server, env=environment)
        return asyncio.run(_ask_all(parameters, questions, published))


async def _ask_all(
    parameters: StdioServerParameters,
    questions: Sequence[Question],
    published: set[frozenset[ColumnId]],
) -> list[Outcome]:
    async with Client(parameters) as client:
        offered = {tool.name for tool in (await client.list_tools()).tools}
        assert "grep_documents" in offered, "the server offers no tool that reads documents"
        return [
            await _ask(client, question, name, route, published)
            for question in questions
            for name, route in ROUTES.items()
        ]


async def _ask(
    client: Client, question: Question, name: str, route: Route, published: set[frozenset[ColumnId]]
) -> Outcome:
    talk = Conversation(client)
    await route(talk, question)
    needed = {frozenset(pair) for pair in question.needed}
    return Outcome(
        question=question,
        route=name,
        calls=talk.calls,
        tokens=talk.tokens,
        arrived=needed <= talk.named,
        published=needed <= published,
    )


def describe_outcomes(outcomes: Sequence[Outcome]) -> str:
    """For each route, tabulate how many questions it answered and how many tokens it took.

    Args:
        outcomes: All outcomes.
    """
    rows = []
    for name in dict.fromkeys(outcome.route for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.route == name]
        known = [outcome for outcome in own if outcome.published]
        rows.append(
            (
                name,
                f"{sum(it.is_counted for it in own)} of {len(own)}",
                f"{sum(it.is_counted for it in known)} of {len(known)}",
                sum(it.arrived and not it.is_counted for it in own),
                median(it.tokens for it in own),
                max(it.tokens for it in own),
            )
        )
    headers = ("route", "arrived", "of published", "over the limits", "median tokens", "most")
    return tabulate(rows, headers=headers, disable_numparse=True)


def main() -> None:
    """Ask the questions, and print how many were answered by each route."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("lake", type=Path, help="a labelled lake with references.csv")
    parser.add_argument("--schema", type=Path, required=True, help="DataHub's GraphQL schema")
    parser.add_argument("--server", default="mcp-server-datahub", help="the command")
    parser.add_argument("--questions", type=int, default=40, help="number of questions")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--details", action="store_true", help="print every question, too")
    options = parser.parse_args()
    half = options.questions // 2
    declared = read_references(options.lake / "references.csv")
    with TemporaryDirectory() as folder:
        quick = Path(folder) / "lake"
        write_lake(quick)
        lakes = {
            options.lake / "tables": draw_questions(declared, count=half, seed=options.seed),
            quick: draw_questions(
                read_known_joins(_KNOWN_JOINS), count=options.questions - half, seed=options.seed
            ),
        }
        outcomes = [
            outcome
            for tables, questions in lakes.items()
            for outcome in ask_about(
                tables, questions, schema=options.schema, server=options.server
            )
        ]
    if options.details:
        for it in outcomes:
            pairs = sorted(f"{one} = {other}" for one, other in it.question.needed)
            print(json.dumps([it.route, it.is_counted, it.published, it.calls, it.tokens, pairs]))
    print(describe_outcomes(outcomes))


if __name__ == "__main__":
    main()
