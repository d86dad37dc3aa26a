"""Suggestions as metadata: relationships for programs, structured properties for people."""

from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.findings import emit_findings
from datahub_hyperjoin.emit.urns import column_urn, dataset_urn

__all__ = ["EmitConfig", "column_urn", "dataset_urn", "emit_findings"]
