import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    DatasetLineageTypeClass,
    FineGrainedLineageClass,
    FineGrainedLineageDownstreamTypeClass,
    FineGrainedLineageUpstreamTypeClass,
    UpstreamClass,
    UpstreamLineageClass,
)
from datahub.specific.dataset import DatasetPatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.emit.config import LineageForm
from datahub_hyperjoin.emit.lineage import Edge, build_lineage, emit_lineage
from datahub_hyperjoin.emit.queries import query_of
from datahub_hyperjoin.joins import Cardinality, Evidence, Join, Role
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
Existing = dict[str, UpstreamLineageClass]

GOLDEN = Path(__file__).parent / "golden" / "lineage.json"
TABLES = [TableId("file", f"nyc/{name}.csv") for name in "abcdef"]
A, B, C = (ColumnId(table, "[version=2.0].[type=string].id") for table in TABLES[:3])
UNIQUE_LEFT, UNIQUE_RIGHT = Cardinality.ONE_MANY, Cardinality.MANY_ONE


def flow(*steps: tuple[TableId, TableId]) -> Existing:
    """Make lineage with an edge for each pair of datasets."""
    found: Existing = {}
    for upstream, downstream in steps:
        own = found.setdefault(dataset_urn(downstream), UpstreamLineageClass(upstreams=[]))
        own.upstreams.append(
            UpstreamClass(dataset=dataset_urn(upstream), type=DatasetLineageTypeClass.COPY)
        )
    return found


def column_flow(upstreams: list[str], downstream: ColumnId) -> Existing:
    """Make lineage that has an edge between columns, but none between tables."""
    edge = FineGrainedLineageClass(
        upstreamType=FineGrainedLineageUpstreamTypeClass.FIELD_SET,
        downstreamType=FineGrainedLineageDownstreamTypeClass.FIELD,
        upstreams=upstreams,
        downstreams=[column_urn(downstream)],
    )
    lineage = UpstreamLineageClass(upstreams=[], fineGrainedLineages=[edge])
    return {dataset_urn(downstream.table): lineage}


def known(existing: Mapping[str, UpstreamLineageClass]) -> set[tuple[str, str]]:
    """Return the lineage as pairs of an upstream and a downstream dataset."""
    return {
        (upstream.dataset, downstream)
        for downstream, lineage in existing.items()
        for upstream in lineage.upstreams
    }


def between(edge: Edge) -> tuple[str, str]:
    return dataset_urn(edge.upstream.table), dataset_urn(edge.downstream.table)


def oriented(join: Join, cardinality: Cardinality) -> Join:
    """Return the join with the given cardinality.

    If one side is unique, the join is a reference to that side.
    """
    unique = {UNIQUE_LEFT: join.left, UNIQUE_RIGHT: join.right}.get(cardinality)
    return replace(
        join,
        evidence=replace(join.measured, cardinality=cardinality),
        role=Role.REFERENCE if unique else Role.SAME_DOMAIN,
        referenced=unique,
    )


@pytest.fixture
def chain(make_join: MakeJoin) -> list[Join]:
    """Return three joins that form a cycle: A refers to C, C to B, and B to A.

    The worst join comes first.
    """
    return [
        oriented(make_join(A, C, 0.7), UNIQUE_RIGHT),
        oriented(make_join(B, C, 0.8), UNIQUE_LEFT),
        oriented(make_join(A, B, 0.91237), UNIQUE_LEFT),
    ]


@pytest.mark.parametrize("role", [Role.REFERENCE, Role.ONE_TO_ONE])
@pytest.mark.parametrize("referenced", [A, B])
def test_lineage_leads_from_the_referenced_column(
    role: Role, referenced: ColumnId, make_join: MakeJoin
) -> None:
    join = replace(make_join(A, B, 0.9), role=role, referenced=referenced)
    (edge,) = build_lineage([join], {})[0]
    assert (edge.upstream, edge.downstream) == (referenced, join.referring)


def test_each_pair_of_a_composite_key_is_an_edge(make_join: MakeJoin) -> None:
    season, year = ColumnId(A.table, "season"), ColumnId(B.table, "year")
    join = replace(oriented(make_join(A, B, 0.9), UNIQUE_RIGHT), further=((season, year),))
    edges = build_lineage([join], {})[0]
    assert [(edge.upstream, edge.downstream) for edge in edges] == [(B, A), (year, season)]


@pytest.mark.parametrize("role", [Role.SIBLING, Role.SAME_DOMAIN])
@pytest.mark.parametrize("cardinality", list(Cardinality))
def test_siblings_and_columns_of_one_domain_are_no_lineage(
    role: Role, cardinality: Cardinality, make_join: MakeJoin
) -> None:
    join = replace(oriented(make_join(A, B, 0.9), cardinality), role=role, referenced=None)
    assert build_lineage([join], {}) == ([], 0)


def test_joins_without_a_direction_are_no_lineage(make_join: MakeJoin) -> None:
    many = oriented(make_join(A, B, 0.9), Cardinality.MANY_MANY)
    itself = oriented(make_join(A, ColumnId(A.table, "parent"), 0.9), UNIQUE_LEFT)
    assert build_lineage([many, itself], {}) == ([], 0)


def test_the_worst_join_of_a_circle_is_left_out(chain: list[Join]) -> None:
    found = build_lineage(chain, {})
    assert [(edge.upstream, edge.downstream) for edge in found[0]] == [(A, B), (B, C)]
    assert [edge.confidence for edge in found[0]] == [0.9124, 0.8]
    assert found[1] == 1


@pytest.mark.parametrize(
    "existing",
    [
        flow((B.table, A.table)),
        flow((B.table, C.table), (C.table, A.table)),
        column_flow([column_urn(B)], A),
    ],
)
def test_what_flows_already_flows_no_other_way(existing: Existing, make_join: MakeJoin) -> None:
    found = build_lineage([oriented(make_join(A, B, 0.9), UNIQUE_LEFT)], existing)
    assert found == ([], 1)


def test_lineage_that_starts_from_no_column_is_no_obstacle(make_join: MakeJoin) -> None:
    existing = column_flow([dataset_urn(B.table), "urn:li:tag:odd", "odd"], A)
    assert build_lineage([oriented(make_join(A, B, 0.9), UNIQUE_LEFT)], existing)[0]


def test_an_edge_between_tables_is_added_where_there_is_none(make_join: MakeJoin) -> None:
    other = ColumnId(B.table, "code")
    joins = [oriented(make_join(A, column, 0.9), UNIQUE_LEFT) for column in (B, other, C)]
    found = build_lineage(joins, flow((A.table, C.table)))
    assert {(edge.downstream, edge.adds_table) for edge in found[0]} == {
        (B, True),
        (other, True),
        (C, False),
    }
    patches = [unit.metadata.to_obj()["aspect"]["value"] for unit in emit_lineage(found[0])]
    assert [patch.count('"/upstreams/') for patch in patches] == [1, 0]
    assert [patch.count('"/fineGrainedLineages/') for patch in patches] == [2, 1]


def test_lineage_of_columns_only_has_no_edge_between_tables(chain: list[Join]) -> None:
    columns_only = build_lineage(chain, {}, form=LineageForm.COLUMNS)
    both = build_lineage(chain, {})
    assert columns_only[1] == both[1]
    assert [replace(edge, adds_table=True) for edge in columns_only[0]] == both[0]
    for unit in emit_lineage(columns_only[0]):
        assert "/upstreams/" not in unit.metadata.to_obj()["aspect"]["value"]


def test_the_query_of_the_best_join_is_on_the_edge_between_tables(
    make_join: MakeJoin, describe: Describe
) -> None:
    other = ColumnId(B.table, "code")
    best = oriented(make_join(A, other, 0.9), UNIQUE_LEFT)
    worse = oriented(make_join(A, B, 0.8), UNIQUE_LEFT)

    def table_edge(*queries: str) -> dict[str, Any]:
        edges = build_lineage([worse, best], {}, queries=queries)[0]
        (unit,) = map(describe, emit_lineage(edges))
        value: dict[str, Any] = unit["value"][0]["value"]
        return value

    assert table_edge(query_of(worse), query_of(best))["query"] == query_of(best)
    assert "query" not in table_edge(query_of(worse))
    assert table_edge()["properties"] == {"source": "UI"}


def test_lineage_is_written_as_agreed(chain: list[Join], describe: Describe) -> None:
    both = oriented(replace(chain[0], joinability=0.75), UNIQUE_LEFT)
    found = list(map(describe, emit_lineage(build_lineage([*chain, both], {})[0])))
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_lineage_is_never_ours_to_delete(chain: list[Join]) -> None:
    units = list(emit_lineage(build_lineage(chain, {})[0]))
    assert len({unit.id for unit in units}) == len(units) == 2
    assert not any(unit.is_primary_source for unit in units)


def test_datahub_itself_would_write_the_same(chain: list[Join], describe: Describe) -> None:
    edge, *_ = build_lineage(chain, {})[0]
    (unit,) = map(describe, emit_lineage([edge]))
    upstream = UpstreamClass.from_obj(unit["value"][0]["value"], tuples=True)
    assert upstream.validate()
    column = FineGrainedLineageClass(
        upstreamType=FineGrainedLineageUpstreamTypeClass.FIELD_SET,
        downstreamType=FineGrainedLineageDownstreamTypeClass.FIELD,
        upstreams=[column_urn(edge.upstream)],
        downstreams=[column_urn(edge.downstream)],
        transformOperation="JOINABLE_WITH",
        confidenceScore=edge.confidence,
    )
    builder = DatasetPatchBuilder(dataset_urn(edge.downstream.table))
    (proposal,) = builder.add_upstream_lineage(upstream).add_fine_grained_lineage(column).build()
    assert (proposal.entityUrn, proposal.aspectName) == (unit["urn"], unit["aspect"])
    assert proposal.aspect
    assert json.loads(proposal.aspect.value) == unit["value"]


def test_the_order_of_joins_changes_nothing(chain: list[Join]) -> None:
    even = [replace(join, joinability=0.8) for join in chain]
    assert build_lineage(even, {}) == build_lineage(even[::-1], {})


shares = st.floats(0, 1)
columns = st.builds(ColumnId, st.sampled_from(TABLES), st.sampled_from(["id", "code"]))
ends = st.lists(columns, min_size=2, max_size=2, unique=True).map(sorted)


@st.composite
def a_join(draw: st.DrawFn) -> Join:
    left, right = draw(ends)
    role = draw(st.sampled_from(Role))
    return Join(
        left=left,
        right=right,
        joinability=draw(shares),
        evidence=Evidence(
            shared=1,
            left_containment=draw(shares),
            right_containment=draw(shares),
            cardinality=draw(st.sampled_from(Cardinality)),
            left_fan_out=1.0,
            right_fan_out=1.0,
        ),
        role=role,
        referenced=draw(st.sampled_from([left, right])) if role.is_directed else None,
    )


steps = st.lists(st.tuples(st.sampled_from(TABLES), st.sampled_from(TABLES)), max_size=6)


@given(st.lists(a_join(), max_size=20), steps)
def test_no_edge_of_ours_lies_on_a_circle(
    joins: list[Join], already: list[tuple[TableId, TableId]]
) -> None:
    # What is there already may well go round in circles.
    existing = flow(*already)
    edges = build_lineage(joins, existing)[0]
    ours = set(map(between, edges))
    flows = nx.DiGraph(known(existing) | ours)
    for circle in nx.simple_cycles(flows):
        assert not ours.intersection(pairwise([*circle, circle[0]]))


@given(st.lists(a_join(), max_size=20), steps)
def test_every_join_is_an_edge_or_has_a_reason(
    joins: list[Join], already: list[tuple[TableId, TableId]]
) -> None:
    existing = flow(*already)
    found = build_lineage(joins, existing)
    directed = [
        join for join in joins if join.role.is_directed and join.left.table != join.right.table
    ]
    assert len(found[0]) + found[1] == len(directed)
    for edge in found[0]:
        assert edge.adds_table == (between(edge) not in known(existing))
        assert any(
            (join.referring, join.referenced) == (edge.downstream, edge.upstream)
            for join in directed
        )
