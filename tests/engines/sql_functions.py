"""Find the functions that the SQL of a database system calls."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.spark.databases.sql_forms import SqlForm, SqlSyntax
from datahub_hyperjoin.spark.databases.system import DatabaseSystem


def called_functions(syntax: SqlSyntax, expressions: Iterable[str]) -> set[str]:
    """Return what stands before a parenthesis in templates and expressions, in small letters."""
    templates = [getattr(syntax, name) for name in syntax.__slots__]
    written = [*(text for text in templates if isinstance(text, str)), *expressions]
    return {name.lower() for text in written for name in re.findall(r"\b([a-zA-Z]\w*)\(", text)}


def with_other_sql(
    system: DatabaseSystem, type_: type[TypeEngine[Any]], written: str, other: str
) -> Callable[[TypeEngine[Any]], SqlForm | None]:
    """Return a function like `system.form` that writes other SQL for the columns of a type."""
    write = system.form

    def form(asked: TypeEngine[Any]) -> SqlForm | None:
        found = write(asked)
        if not found or not isinstance(asked, type_):
            return found
        assert written in found.folded
        return replace(found, folded=found.folded.replace(written, other))

    return form
