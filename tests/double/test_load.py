"""Test that the test double is fast, and stays consistent while many clients use it."""

import time
from concurrent.futures import ThreadPoolExecutor

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    RelationshipFieldMappingClass,
    TagAssociationClass,
)
from datahub.specific.dataset import DatasetPatchBuilder

from gms import Gms

TABLES, JOINS, THREADS = 10_000, 5_000, 15


def _urn(number: int) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.t{number:05},PROD)"


def test_ten_thousand_datasets_are_read_in_seconds() -> None:
    with Gms() as gms:
        for number in range(TABLES):
            gms.put(_urn(number), DatasetPropertiesClass(name=f"t{number}"))
        graph, start, scroll_id, found = gms.graph(), time.process_time(), None, 0
        while found == 0 or scroll_id:
            page = graph.scroll_entities(
                entity_names=["dataset"],
                aspects=["datasetProperties"],
                count=1_000,
                scroll_id=scroll_id,
                with_system_metadata=True,
            )
            scroll_id, found = page.scroll_id, found + len(page.entities)
        by_graphql = len(list(graph.get_urns_by_filter(entity_types=["dataset"])))
        assert (found, by_graphql) == (TABLES, TABLES)
        assert time.process_time() - start < 30


def test_thousands_of_relationships_are_found_from_their_ends() -> None:
    mapping = [RelationshipFieldMappingClass("a", "b")]
    with Gms() as gms:
        for number in range(JOINS):
            ends = _urn(number), _urn(number + 1)
            join = ERModelRelationshipPropertiesClass(str(number), *ends, mapping)
            gms.put(f"urn:li:erModelRelationship:{number:05}", join)
        query = """query joins($dataset: String!) { searchAcrossEntities(input: {
            types: [ER_MODEL_RELATIONSHIP], query: "*", searchFlags: { skipAggregates: true },
            orFilters: [{ and: [{ field: "source", values: [$dataset] }] },
                        { and: [{ field: "destination", values: [$dataset] }] }] }) { total } }"""
        start = time.process_time()
        for number in range(1, 11):
            found = gms.graphql(query, dataset=_urn(number))["searchAcrossEntities"]
            assert found["total"] == 2
        assert time.process_time() - start < 10


def test_writes_of_many_threads_all_arrive() -> None:
    tags = [f"urn:li:tag:t{number}" for number in range(THREADS * 20)]
    with Gms() as gms:
        graph = gms.graph(pool_maxsize=THREADS, pool_connections=THREADS)

        def write(number: int) -> None:
            for tag in tags[number::THREADS]:
                builder = DatasetPatchBuilder(_urn(0)).add_tag(TagAssociationClass(tag))
                graph.emit_mcps(builder.build())
                own = MetadataChangeProposalWrapper(
                    entityUrn=_urn(number + 1), aspect=DatasetPropertiesClass(name=tag)
                )
                graph.emit_mcp(own)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(write, range(THREADS)))
        found = gms.get(_urn(0), GlobalTagsClass)
        assert found is not None
        assert sorted(it.tag for it in found.tags) == sorted(tags)
        assert len(gms.writes) == 2 * len(tags)
        assert len(gms.urns("dataset")) == THREADS + 1
