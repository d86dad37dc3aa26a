"""Define the routes by which an agent may look for a join, and count their calls and tokens."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from mcp import Client
from mcp.types import TextContent

from benchmarks.agents.answers import (
    Named,
    named_in_guide,
    named_in_property,
    named_in_sql,
    texts,
)
from benchmarks.agents.questions import Question

_QUERIES, _HITS = 10, 5


@dataclass
class Conversation:
    """The tool calls made to answer one question, and the joins that the answers named."""

    client: Client
    """A client of DataHub's MCP server."""

    named: Named = field(default_factory=set)
    """All joins named in the answers so far."""

    calls: int = 0
    """Number of calls."""

    tokens: int = 0
    """Number of tokens in all answers."""

    async def ask(self, tool: str, **arguments: object) -> Any:  # noqa: ANN401 - JSON
        """Call a tool, and return its answer."""
        return json.loads(await self.read(tool, **arguments))

    async def read(self, tool: str, **arguments: object) -> str:
        """Call a tool, and return the text of its answer."""
        answer = await self.client.call_tool(tool, arguments)
        text = "".join(part.text for part in answer.content if isinstance(part, TextContent))
        assert not answer.is_error, f"{tool}: {text}"
        self.calls += 1
        self.tokens += count_tokens(text)
        return text


def count_tokens(text: str) -> int:
    """Estimate the number of tokens as DataHub's MCP server does.

    >>> count_tokens("a join of two tables")
    6
    """
    return int(1.3 * len(text) / 4)


async def read_document(talk: Conversation, question: Question) -> None:
    """Get the dataset, then search its document for the name of the other dataset."""
    dataset = await talk.ask("get_entities", urns=question.urn)
    related = dataset.get("relatedDocuments", {}).get("documents", ())
    guides = [it["urn"] for it in related if it["info"]["title"].startswith("How to join")]
    if guides:
        name = re.escape(question.second.name)
        found = await talk.ask("grep_documents", urns=guides, pattern=name)
        for text in texts(found):
            talk.named |= named_in_guide(text, question.first)


async def read_queries(talk: Conversation, question: Question) -> None:
    """Search for the dataset by its name, then get its Highlighted Queries."""
    if urn := await _search(talk, question):
        found = await talk.ask("get_dataset_queries", urn=urn, source="MANUAL", count=_QUERIES)
        for text in texts(found):
            talk.named |= named_in_sql(text)


async def read_property(talk: Conversation, question: Question) -> None:
    """Search for the dataset by its name, then get it with its property *Suggested joins*."""
    if urn := await _search(talk, question):
        for text in texts(await talk.ask("get_entities", urns=urn)):
            talk.named |= named_in_property(text, question.first)


async def _search(talk: Conversation, question: Question) -> str | None:
    found = await talk.ask(
        "search", query=question.first.name, filter="entity_type = dataset", num_results=_HITS
    )
    hits = [hit["entity"]["urn"] for hit in found.get("searchResults", ())]
    return question.urn if question.urn in hits else None


Route = Callable[[Conversation, Question], Awaitable[None]]

ROUTES: dict[str, Route] = {
    "document": read_document,
    "queries": read_queries,
    "property": read_property,
}
"""Functions that search for a join, by the kind of metadata that each function reads."""
