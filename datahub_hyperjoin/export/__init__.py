"""Export joins in the formats of semantic layers, databases and diagrams.

`select_safe` keeps the joins that repeat no rows, `build_schema` names them, and one module for
each format writes them as text. `declared` reads the types of columns; it is imported only where it
is needed, since that takes a second.
"""

from datahub_hyperjoin.export.formats import Exported, ExportFormat, export_joins
from datahub_hyperjoin.export.safe_joins import LeftOut, SafeJoin, word_reasons
from datahub_hyperjoin.export.schema import DeclaredColumns
from datahub_hyperjoin.export.write import precede_with_checksum, write_export

__all__ = [
    "DeclaredColumns",
    "ExportFormat",
    "Exported",
    "LeftOut",
    "SafeJoin",
    "export_joins",
    "precede_with_checksum",
    "word_reasons",
    "write_export",
]
