"""Write joins and suggestions to DataHub, and withdraw outdated metadata."""

from datahub_hyperjoin.emit.changes import keep_changes
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.read_back import ReadBack, mark_withdrawn
from datahub_hyperjoin.emit.written_state import WrittenStateHandler

__all__ = ["EmitConfig", "ReadBack", "WrittenStateHandler", "keep_changes", "mark_withdrawn"]
