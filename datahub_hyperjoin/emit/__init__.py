"""Suggestions as metadata: for programs, for people, and taken back when they no longer hold."""

from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.differences import keep_changes
from datahub_hyperjoin.emit.existing_state import ExistingState, without_ours
from datahub_hyperjoin.emit.findings import Publication, emit_findings
from datahub_hyperjoin.emit.retract import retract
from datahub_hyperjoin.emit.support import find_unsupported
from datahub_hyperjoin.emit.written_state import WrittenState, WrittenStateHandler, stale_removal

__all__ = [
    "EmitConfig",
    "ExistingState",
    "Publication",
    "WrittenState",
    "WrittenStateHandler",
    "emit_findings",
    "find_unsupported",
    "keep_changes",
    "retract",
    "stale_removal",
    "without_ours",
]
