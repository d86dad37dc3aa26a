"""Read the joins that `hyperjoin find` or a run with a file sink wrote to a file."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from datahub_hyperjoin.cli.errors import JoinsFileError
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql.read import read_joins
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    Role,
    RowCounts,
    Statement,
    Verdict,
    best_first,
)
from datahub_hyperjoin.metadata.relationships import SQL_DIALECT, WITHDRAWN_BY, catalog_join
from datahub_hyperjoin.metadata.urns import query_urn
from datahub_hyperjoin.tables import ColumnId, DataType, TableId

_Entry = dict[str, Any]
_Statements = Mapping[str, Statement]
_Types = Mapping[ColumnId, DataType]
_Titles = Mapping[TableId, str]

_JOINS = "joins.json"
_OUT = {_JOINS, "joins.csv", "joins.sql", "joins.html"}
"""The files that `hyperjoin find --out` writes to a folder."""

_OF_FIND = frozenset({"left_column", "left_type", "joinability"})
_OF_SINK = frozenset({"entityType", "entityUrn", "aspectName"})
"""Keys that each entry of a file has: of `hyperjoin find`, and of DataHub's file sink."""

_SIDES = ("left", "right")
_CARDINALITIES = {each.words: each for each in Cardinality}


def find_joins_file(path: Path) -> Path | None:
    """Return the JSON file that a path names, or that a folder of `--out` holds; None for data."""
    with suppress(OSError):  # a URL may be too long for a path
        if path.is_dir() and _OUT.issuperset(inner := {each.name for each in path.iterdir()}):
            return path / _JOINS if _JOINS in inner else None
        if path.suffix.lower() == ".json" and path.is_file():
            return path
    return None


def read_joins_file(path: Path) -> tuple[Sequence[Join], _Statements, _Types, _Titles]:
    """Read a file of joins: the joins as the catalog has them, their SQL, and what else it tells.

    Returns:
        The joins, best first; their SQL by their URNs; the types of columns; the titles of tables.

    Raises:
        JoinsFileError: The file holds no joins.
    """
    entries = _read_entries(path)
    kinds = [{*entry} if isinstance(entry, dict) else set() for entry in entries]
    reads = {_OF_FIND: _read_records, _OF_SINK: _read_proposals}
    fitting = [read for keys, read in reads.items() if all(map(keys.issubset, kinds))]
    if not fitting:
        raise JoinsFileError.other_content(path)
    try:
        joins, statements, types = fitting[0](entries)
    except (AttributeError, HyperJoinError, LookupError, TypeError, ValueError) as error:
        raise JoinsFileError.damaged(path) from error
    if not joins:
        raise JoinsFileError.without_joins(path)
    # Files have such titles in a run, too.
    titles = {
        table: PurePosixPath(table.name).name.partition(".")[0]
        for join in joins
        for table in join.tables
        if table.platform == "file"
    }
    return best_first(joins), statements, types, titles


def _read_entries(path: Path) -> list[Any]:
    try:
        entries = json.loads(path.read_bytes())
    except OSError as error:
        raise JoinsFileError.unread(path, error.strerror or "") from error
    except (ValueError, RecursionError) as error:
        raise JoinsFileError.damaged(path) from error
    return entries if isinstance(entries, list) else [entries]


def _read_records(entries: Iterable[_Entry]) -> tuple[list[Join], _Statements, _Types]:
    """Read the records that `datahub_hyperjoin.discovery.records` makes of joins."""
    joins, statements, types = [], {}, dict[ColumnId, DataType]()
    for entry in entries:
        for side in _SIDES:
            columns, kinds = _columns(entry, side), _listed(entry[f"{side}_type"])
            known = zip(columns, kinds, strict=True)
            types |= {column: DataType(kind) for column, kind in known if kind}
        joins.append(join := catalog_join(_join(entry)))
        if entry["sql"]:
            was_run = bool(entry["sql_was_run"])
            statements[join.urn] = Statement(
                sql=str(entry["sql"]), dialect=str(entry["dialect"]), was_run=was_run
            )
    return joins, statements, types


def _join(entry: _Entry) -> Join:
    left, right = (_columns(entry, side) for side in _SIDES)
    (one, other), *further = zip(left, right, strict=True)
    role, decision = Role(entry["role"]), entry["decision"]
    verdict = Verdict(decision) if decision else None
    return Join(
        left=one,
        right=other,
        joinability=float(entry["joinability"]),
        evidence=_evidence(entry) if "cardinality" in entry else None,
        catalog=CatalogEvidence(stated=bool(entry["declared"]), verdict=verdict),
        role=role,
        referenced=other if role.is_directed else None,
        further=tuple(further),
    )


def _columns(entry: _Entry, side: str) -> list[ColumnId]:
    table = TableId(str(entry[f"{side}_platform"]), str(entry[f"{side}_table"]))
    return [ColumnId(table, path) for path in _listed(entry[f"{side}_column"])]


def _listed(value: str) -> list[str]:
    """Return the names in the JSON list of a composite key, or else the one name."""
    names: list[str] = []
    if value.startswith('["'):
        with suppress(ValueError):
            names = [*map(str, json.loads(value))]
    return names if len(names) > 1 else [value]


def _evidence(entry: _Entry) -> Evidence:
    return Evidence(
        shared=int(entry["shared_values"]),
        left_containment=float(entry["left_containment"]),
        right_containment=float(entry["right_containment"]),
        cardinality=_CARDINALITIES[entry["cardinality"]],
        left_fan_out=float(entry["left_fan_out"]),
        right_fan_out=float(entry["right_fan_out"]),
        rows=int(entry["rows"]),
        compared_as=str(entry["compared_as"]),
        rows_as_written=int(entry["rows_as_written"]) if entry["compared_as"] else 0,
        placeholders=str(entry["placeholders"]),
        left_counts=_counts(entry, "left"),
        right_counts=_counts(entry, "right"),
    )


def _counts(entry: _Entry, side: str) -> RowCounts | None:
    if entry[f"{side}_rows"] is None:
        return None
    return RowCounts(
        total=int(entry[f"{side}_rows"]),
        filled=int(entry[f"{side}_rows_with_value"]),
        matched=entry[f"{side}_rows_with_partner"],
    )


def _read_proposals(entries: Iterable[_Entry]) -> tuple[list[Join], _Statements, _Types]:
    """Read the metadata of relationships and queries, as DataHub's server would show it."""
    entities: defaultdict[str, _Entry] = defaultdict(dict)
    queries: dict[str, Statement] = {}
    for entry in entries:
        urn, content = entry["entityUrn"], (entry.get("aspect") or {}).get("json") or {}
        match entry["entityType"], entry["aspectName"]:
            case "erModelRelationship", "erModelRelationshipProperties":
                ends = {end: {"urn": content[end]} for end in ("source", "destination")}
                entities[urn]["properties"] = content | ends
            case "erModelRelationship", "globalTags":
                entities[urn]["tags"] = {"tags": [*_tags(content)]}
            case "erModelRelationship", "status":
                entities[urn]["status"] = content
            case "query", "queryProperties":
                marks = content.get("customProperties") or {}
                statement, dialect = content["statement"]["value"], marks.get(SQL_DIALECT, "")
                if WITHDRAWN_BY not in marks:
                    queries[urn] = Statement(sql=statement, dialect=dialect)
            case _:  # of other entities
                pass
    joins = [*read_joins({"urn": urn, **entity} for urn, entity in entities.items())]
    found = {join.urn: queries.get(query_urn(join.urn)) for join in joins} if queries else {}
    return joins, {urn: statement for urn, statement in found.items() if statement}, {}


def _tags(content: _Entry) -> Iterator[_Entry]:
    """Yield the tags of an aspect, or those that a patch adds to it."""
    added = (change["value"] for change in content.get("patch", ()) if change["op"] == "add")
    for tag in content.get("tags", added):
        yield {"tag": {"urn": tag["tag"]}, "context": tag.get("context")}
