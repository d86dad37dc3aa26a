"""Write joins and suggestions to DataHub, and withdraw outdated metadata."""

from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.contexts import find_foreign_contexts
from datahub_hyperjoin.emit.differences import keep_changes
from datahub_hyperjoin.emit.embeds import find_foreign_embeds
from datahub_hyperjoin.emit.existing_state import ExistingState, without_ours
from datahub_hyperjoin.emit.findings import emit_findings
from datahub_hyperjoin.emit.mark_withdrawn import mark_withdrawn
from datahub_hyperjoin.emit.properties import Partner, read_partners
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.emit.read_back import ReadBack
from datahub_hyperjoin.emit.stale_removal import stale_removal
from datahub_hyperjoin.emit.support import find_unsupported
from datahub_hyperjoin.emit.withdraw import withdraw
from datahub_hyperjoin.emit.written_state import WrittenState
from datahub_hyperjoin.emit.written_state_handler import WrittenStateHandler

__all__ = [
    "EmitConfig",
    "ExistingState",
    "Partner",
    "Publication",
    "ReadBack",
    "WrittenState",
    "WrittenStateHandler",
    "emit_findings",
    "find_foreign_contexts",
    "find_foreign_embeds",
    "find_unsupported",
    "keep_changes",
    "mark_withdrawn",
    "read_partners",
    "stale_removal",
    "withdraw",
    "without_ours",
]
