"""Ask the person, not the agent, whether a join is accepted, where the client can ask."""

from collections.abc import Callable
from inspect import getdoc
from typing import Annotated, Any

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, Field

from datahub_hyperjoin.agents.answers import Answer
from datahub_hyperjoin.agents.tools import DecidedName, JoinTools, Reason
from datahub_hyperjoin.errors import HyperJoinError

_WITHOUT_CHANNEL = "2026-07-28"
"""The first version of the protocol in which a question is part of a tool's answer. In earlier ones
it is a request to the client, which a server without sessions cannot send."""


class Confirmation(BaseModel):
    """What the person fills in; where nobody can be asked, the agent's word counts."""

    accept: bool = Field(default=True, title="Accept this join")


def confirmed_accept(tools: JoinTools) -> Callable[..., Answer]:
    """Return the tool `accept_join`, which asks the person first where the client can."""

    def ask(context: Context[Any, Any], join: str, why: str) -> Elicit[Confirmation] | Confirmation:
        if not _can_ask(context):
            return Confirmation()
        try:
            return Elicit(tools.question_about(join, why), Confirmation)
        except HyperJoinError:
            return Confirmation()  # the tool itself meets the error again, and tells it

    def accept_join(
        join: DecidedName,
        why: Reason,
        said: Annotated[ElicitationResult[Confirmation], Resolve(ask)],
    ) -> Answer:
        if isinstance(said, AcceptedElicitation) and said.data.accept:
            return tools.accept_join(join, why)
        return {"answer": "not accepted", "why": "the user was asked, and did not accept the join"}

    accept_join.__doc__ = getdoc(tools.accept_join)
    return accept_join


def _can_ask(context: Context[Any, Any]) -> bool:
    """Return whether the client can show a form to the person."""
    capabilities, version = context.client_capabilities, context.protocol_version
    asked = capabilities.elicitation if capabilities else None
    if asked is None or (asked.form is None and asked.url is not None):
        return False
    is_answer = version is not None and is_version_at_least(version, _WITHOUT_CHANNEL)
    return is_answer or context.session.can_send_request
