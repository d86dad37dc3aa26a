"""Suggestions as metadata: relationships for programs, structured properties for people."""

from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.findings import emit_findings

__all__ = ["EmitConfig", "emit_findings"]
