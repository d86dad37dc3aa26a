"""Make tables and joins for the HTML page, and write the page."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.decision_file import FiledDecision
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    Role,
    Suggestion,
    Verdict,
)
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.normal_form import hash_values, normal_form
from datahub_hyperjoin.page import write_page
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Table,
    TableId,
    TableProfile,
)

EVIDENCE = Evidence(
    shared=3322,
    left_containment=1.0,
    right_containment=0.25,
    cardinality=Cardinality.ONE_MANY,
    left_fan_out=101.4,
    right_fan_out=0.99,
)


def column(name: str) -> ColumnId:
    """Return the column named by `publisher/table.column`."""
    table, _, path = name.rpartition(".")
    return ColumnId(TableId("file", f"{table}.csv"), path)


def profiled(id_: ColumnId) -> ColumnProfile:
    return ColumnProfile(
        id=id_,
        position=0,
        type=DataType.TEXT,
        rows=10,
        nulls=0,
        distinct=10,
        sketch=bytes(10 * 8),
        sample=("N14228",),
        counts=(1,),
        lengths=Lengths(shortest=6, mean=6.0, longest=6),
        patterns=(),
    )


def holding(plain: ColumnProfile, values: Sequence[str], *, size: int = 99) -> ColumnProfile:
    """Return a profile with a sample and a sketch of values, each in as many rows as letters."""
    hashes = np.sort(hash_values(pa.array(map(normal_form, values), pa.string())))[:size]
    return replace(
        plain,
        distinct=len(values),
        sample=tuple(values),
        counts=tuple(map(len, values)),
        sketch=hashes.astype("<u8").tobytes(),
    )


def profile(id_: TableId, columns: Sequence[ColumnId] = (), fault: str = "") -> TableProfile:
    table = Table(id=id_, title=Path(id_.name).stem, location=File(uri="", format="csv"), size=1)
    return TableProfile(table=table, columns=tuple(map(profiled, columns)), rows=10, fault=fault)


def profiles(*columns: ColumnId) -> list[TableProfile]:
    tables = groupby(sorted(columns), key=attrgetter("table"))
    return [profile(id_, tuple(group)) for id_, group in tables]


CATALOG_EVIDENCE = CatalogEvidence(declared="fk_plane", verdict=Verdict.ACCEPTED)


def join(first: ColumnId, second: ColumnId, score: float = 0.9) -> Join:
    left, right = sorted((first, second))
    return Join(
        left=left, right=right, joinability=score, evidence=EVIDENCE, catalog=CATALOG_EVIDENCE
    )


def suggestion(query: ColumnId, candidate: ColumnId, score: float = 0.9) -> Suggestion:
    return Suggestion(query=query, candidate=candidate, rank=1, joinability=score)


FLIGHTS = column("nycflights13/flights.tailnum")
PLANES = column("nycflights13/planes.tailnum")
TEAMS = column("lahman/Teams.teamID")


def write_found(
    path: Path,
    *,
    filed: Sequence[FiledDecision] = (),
    file: str = "decisions.csv",
    damaged: Sequence[str] = (),
    values: bool = False,
    **found: Any,  # noqa: ANN401 (the fields of findings)
) -> None:
    """Write the page of some findings."""
    findings = Findings(model_version="", **found)
    write_page(path, findings, filed=filed, file=file, damaged=damaged, values=values)


def write(
    path: Path,
    columns: Sequence[ColumnId],
    joins: Sequence[Join] = (),
    suggestions: Sequence[Suggestion] = (),
    extra: Sequence[TableProfile] = (),
) -> str:
    write_found(
        path,
        profiles=[*profiles(*columns), *extra],
        keys=columns,
        suggestions=suggestions,
        joins=joins,
    )
    return path.read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data
    return json.loads(data[1])


UNFOLD = (
    "for (let at; (at = document.querySelector('#cards [aria-expanded=false]')); ) at.click();"
    "document.querySelectorAll('#cards details').forEach((each) => { each.open = true; }); 0"
)
"""A script that shows all evidence, and all joins that the cards fold."""


def lake(tables: int, keys: int) -> list[ColumnId]:
    return [
        column(f"publisher{t % 12}/table{t:05}.key{k}") for t in range(tables) for k in range(keys)
    ]


def refers(referring: ColumnId, referenced: ColumnId, score: float = 0.9) -> Join:
    return replace(join(referring, referenced, score), role=Role.REFERENCE, referenced=referenced)


def undeclared(one: ColumnId, other: ColumnId) -> Join:
    return replace(join(one, other, 0.8), catalog=CatalogEvidence())
