"""Find the functions that the SQL of a database system calls."""

import re
from collections.abc import Iterable

from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax


def called_functions(syntax: SqlSyntax, expressions: Iterable[str]) -> set[str]:
    """Return what stands before a parenthesis in templates and expressions, in small letters."""
    templates = [getattr(syntax, name) for name in syntax.__slots__]
    written = [*(text for text in templates if isinstance(text, str)), *expressions]
    return {name.lower() for text in written for name in re.findall(r"\b([a-zA-Z]\w*)\(", text)}
