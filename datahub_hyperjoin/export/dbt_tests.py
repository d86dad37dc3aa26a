"""Export joins as dbt tests of references and keys."""

from typing import Any

from datahub_hyperjoin.export.evidence import describe_evidence, list_evidence
from datahub_hyperjoin.export.quoting import dialect_of, needs_quotes, quoted_name
from datahub_hyperjoin.export.schema import ExportedTable, JoinSchema, NamedJoin
from datahub_hyperjoin.export.text import write_yaml


def to_dbt_tests(schema: JoinSchema) -> str:
    """Write the joins as dbt's `relationships` tests, and the keys as `unique` tests.

    If some values of a join have no match, its test only warns.
    """
    models = [{"name": table.name, "columns": _columns(schema, table)} for table in schema.tables]
    document = {"version": 2, "models": models}
    return write_yaml(document)


def _columns(schema: JoinSchema, table: ExportedTable) -> list[dict[str, Any]]:
    columns = []
    for path in table.columns:
        is_key = (path,) in {join.join.referenced_columns for join in schema.joins_to(table)}
        joins = [
            join for join in schema.joins_from(table) if join.join.referring_columns == (path,)
        ]
        tests = [*(["unique"] if is_key else []), *map(_test, joins)]
        quote = {"quote": True} if needs_quotes(path) else {}
        columns += [{"name": path, **quote, "data_tests": tests}] if tests else []
    return columns


def _test(named: NamedJoin) -> dict[str, Any]:
    (path,) = named.join.referenced_columns
    field = quoted_name(path, dialect_of(named.referenced.id)) if needs_quotes(path) else path
    severity = "error" if named.join.is_complete else "warn"
    return {
        "relationships": {
            "name": named.name,
            "description": describe_evidence(named.join),
            "arguments": {"to": f"ref('{named.referenced.name}')", "field": field},
            "config": {"severity": severity, "meta": {"datahub": list_evidence(named.join)}},
        }
    }
