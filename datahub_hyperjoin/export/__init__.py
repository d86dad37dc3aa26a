"""Export joins in the formats of semantic layers, databases and diagrams.

`select_safe` keeps the safe joins, `build_schema` names them, and one function for each format
writes them as text.
"""

from datahub_hyperjoin.export.formats import (
    Exported,
    ExportFormat,
    export_joins,
    precede_with_checksum,
    write_export,
)
from datahub_hyperjoin.export.schema import DeclaredColumns, read_declared
from datahub_hyperjoin.joins.semantic_layers import LeftOut, SafeJoin, word_reasons

__all__ = [
    "DeclaredColumns",
    "ExportFormat",
    "Exported",
    "LeftOut",
    "SafeJoin",
    "export_joins",
    "precede_with_checksum",
    "read_declared",
    "word_reasons",
    "write_export",
]
