"""Write joins and suggestions to DataHub, and withdraw outdated metadata."""

from datahub_hyperjoin.catalog.written_state import WrittenStateHandler
from datahub_hyperjoin.emit.changes import keep_changes
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.read_back import ReadBack, mark_withdrawn

__all__ = ["EmitConfig", "ReadBack", "WrittenStateHandler", "keep_changes", "mark_withdrawn"]
