"""Test queries, lineage and unreadable tables over several runs."""

from collections.abc import Callable
from pathlib import Path

from datahub.metadata.schema_classes import (
    AuditStampClass,
    DatasetLineageTypeClass,
    QueryPropertiesClass,
    StatusClass,
    StructuredPropertiesClass,
    UpstreamClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from gms import Gms
from lakes.lake import codes, column, table, write_table

Ingest = Callable[..., str]
LAYERS = {"queries": True, "lineage": True}
PERSON = "urn:li:corpuser:ada"


def queries(gms: Gms) -> dict[str, str]:
    """Map the titles of all visible queries to their URNs."""
    found = {}
    for urn in gms.urns("query"):
        properties, status = gms.get(urn, QueryPropertiesClass), gms.get(urn, StatusClass)
        if properties and not (status and status.removed):
            found[properties.name or ""] = urn
    return found


def flows(gms: Gms, name: str) -> set[tuple[str, str]]:
    """Return the column lineage of a table, as pairs of an upstream and a downstream column."""
    lineage = gms.get(dataset_urn(table(name)), UpstreamLineageClass)
    return {
        (upstream, downstream)
        for one in (lineage.fineGrainedLineages or [] if lineage else [])
        for upstream in one.upstreams or []
        for downstream in one.downstreams or []
    }


def lose(lake: Path, name: str, key: str) -> None:
    write_table(lake, name, {key: codes(f"{name}-"), "note": codes("note ")})


def test_queries_and_lineage_come_and_go_with_their_join(
    gms: Gms, ingest: Ingest, lake: Path
) -> None:
    theirs = UpstreamClass(
        dataset="urn:li:dataset:(urn:li:dataPlatform:kafka,flights,PROD)",
        type=DatasetLineageTypeClass.COPY,
        auditStamp=AuditStampClass(time=1, actor=PERSON),
    )
    flights = dataset_urn(table("flights.csv"))
    gms.put(flights, UpstreamLineageClass(upstreams=[theirs]), pipeline="connector")
    ingest(emit=LAYERS)
    title = "flights joined with planes on tailnum"
    edge = (
        column_urn(column("planes.csv.tailnum")),
        column_urn(column("flights.csv.tailnum")),
    )
    assert title in queries(gms)
    assert edge in flows(gms, "flights.csv")

    planes = lake.joinpath("planes.csv").read_text()
    lose(lake, "planes.csv", "tailnum")
    ingest(emit=LAYERS)
    assert title not in queries(gms)
    assert edge not in flows(gms, "flights.csv")
    lineage = gms.get(flights, UpstreamLineageClass)
    assert lineage is not None
    assert theirs.dataset in {one.dataset for one in lineage.upstreams}
    assert dataset_urn(table("planes.csv")) not in {one.dataset for one in lineage.upstreams}

    lake.joinpath("planes.csv").write_text(planes)
    ingest(emit=LAYERS)
    assert title in queries(gms)
    assert edge in flows(gms, "flights.csv")


def table_edges(gms: Gms, name: str) -> dict[str, UpstreamClass]:
    lineage = gms.get(dataset_urn(table(name)), UpstreamLineageClass)
    return {edge.dataset: edge for edge in (lineage.upstreams if lineage else ())}


def test_lineage_takes_the_form_that_the_recipe_states(gms: Gms, ingest: Ingest) -> None:
    flights, planes = "flights.csv", dataset_urn(table("planes.csv"))
    ingest(emit={"lineage": "dashed", "queries": True})
    columns, solid = flows(gms, flights), gms.get(dataset_urn(table(flights)), UpstreamLineageClass)
    assert columns
    assert solid
    for edge in solid.upstreams:
        edge.properties = edge.query = None
    # Earlier versions drew edges like these.
    gms.put(dataset_urn(table(flights)), solid, pipeline="joins")
    ingest(emit={"lineage": "dashed", "queries": True})
    assert table_edges(gms, flights)[planes].properties == {"source": "UI"}
    query = queries(gms)["flights joined with planes on tailnum"]
    assert table_edges(gms, flights)[planes].query == query

    before = len(gms.writes)
    ingest("--no-default-report", emit={"lineage": True, "queries": True})
    assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}

    ingest(emit={"lineage": "columns", "queries": True})
    assert (table_edges(gms, flights), flows(gms, flights)) == ({}, columns)
    ingest(emit={"queries": True})
    assert (table_edges(gms, flights), flows(gms, flights)) == ({}, set())


def test_a_query_that_a_person_edits_is_left_alone(gms: Gms, ingest: Ingest, lake: Path) -> None:
    ingest(emit=LAYERS)
    urn = queries(gms)["flights joined with planes on tailnum"]
    edited = gms.get(urn, QueryPropertiesClass)
    assert edited is not None
    edited.name = "Which plane flew"
    edited.lastModified = AuditStampClass(time=1, actor=PERSON)
    gms.put(urn, edited)
    ingest(emit=LAYERS)
    lose(lake, "planes.csv", "tailnum")
    ingest(emit=LAYERS)
    assert queries(gms)["Which plane flew"] == urn


def test_a_query_that_a_person_deletes_stays_deleted(gms: Gms, ingest: Ingest) -> None:
    ingest(emit=LAYERS)
    urn = queries(gms)["flights joined with planes on tailnum"]
    gms.delete(urn)
    ingest(emit=LAYERS)
    ingest(emit=LAYERS)
    assert gms.get(urn, QueryPropertiesClass) is None
    assert gms.get(urn, StatusClass) is None


def test_a_table_that_cannot_be_read_keeps_what_it_has(
    gms: Gms, ingest: Ingest, lake: Path
) -> None:
    ingest(emit=LAYERS)
    tailnum = column_urn(column("planes.csv.tailnum"))
    queried, flowing = queries(gms), flows(gms, "flights.csv")
    lake.joinpath("planes.csv").write_bytes(bytes(range(256)) * 40)
    before = len(gms.writes)
    output = ingest(emit=LAYERS)
    assert "planes.csv: cannot be read" in output
    shown = gms.get(tailnum, StructuredPropertiesClass)
    assert shown is not None
    assert [column_urn(column("flights.csv.tailnum"))] in [one.values for one in shown.properties]
    assert queries(gms) == queried
    assert flows(gms, "flights.csv") == flowing
    assert not [w for w in gms.writes[before:] if w.aspect == "status" and w.entity != "dataJob"]
