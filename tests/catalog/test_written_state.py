from collections.abc import Iterator

import numpy as np
import pytest
from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StatefulStaleMetadataRemovalConfig,
)
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfig,
    StateProviderWrapper,
)
from datahub.ingestion.source.state_provider.datahub_ingestion_checkpointing_provider import (
    DatahubIngestionCheckpointingProvider,
)

from datahub_hyperjoin.catalog.written_state import WrittenEdge, WrittenState, WrittenStateHandler
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn, query_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from gms import Gms

ONE, OTHER, THIRD = (column_urn(ColumnId(TableId("file", name), "id")) for name in "abc")
JOIN, GONE = "urn:li:erModelRelationship:1", "urn:li:erModelRelationship:2"
FULL = WrittenState(
    relationships={JOIN: (ONE, OTHER)},
    columns=[OTHER, ONE],
    datasets=[dataset_urn(TableId("file", "a"))],
    queries=[query_urn(JOIN)],
    lineage=[WrittenEdge(ONE, OTHER, adds_table=True)],
    rejected={GONE: (ONE, THIRD)},
    deleted_queries=[query_urn(GONE)],
)
FOUR_MEGABYTES = 4 * 2**20


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as double:
        yield double


def begin(
    gms: Gms, config: StatefulIngestionConfig | None = None, *, pipeline: str | None = "joins"
) -> tuple[WrittenStateHandler, StateProviderWrapper]:
    ctx = PipelineContext(run_id="run", graph=gms.graph(), pipeline_name=pipeline)
    state = StateProviderWrapper(config, ctx)
    return WrittenStateHandler(state, ctx), state


def finish(state: StateProviderWrapper) -> None:
    state.prepare_for_commit()
    provider = state.ingestion_checkpointing_state_provider
    assert isinstance(provider, DatahubIngestionCheckpointingProvider)
    provider.commit()


def remember(
    gms: Gms, written: WrittenState, config: StatefulIngestionConfig | None = None
) -> None:
    handler, state = begin(gms, config)
    handler.store(written)
    finish(state)


def test_a_run_loads_what_the_last_one_stored(gms: Gms) -> None:
    assert begin(gms)[0].last() is None
    remember(gms, FULL)
    found = begin(gms)[0].last()
    assert found == FULL
    assert found is not None
    assert found.lineage[0].adds_table


def test_a_run_that_stores_nothing_keeps_the_last_state(gms: Gms) -> None:
    remember(gms, FULL)
    handler, state = begin(gms)
    assert handler.last() == FULL
    finish(state)
    assert begin(gms)[0].last() == FULL


def test_the_same_content_is_the_same_state() -> None:
    def state(written: WrittenState) -> bytes:
        written.prepare_for_commit()
        return written.to_bytes()

    mixed = WrittenState(
        relationships={JOIN: (ONE, OTHER), GONE: (ONE, THIRD)}, columns=[OTHER, ONE, OTHER]
    )
    ordered = WrittenState(
        relationships={GONE: (ONE, THIRD), JOIN: (ONE, OTHER)}, columns=[ONE, OTHER]
    )
    assert state(mixed) == state(ordered)


def test_an_old_state_can_be_ignored(gms: Gms) -> None:
    remember(gms, FULL)
    config = StatefulStaleMetadataRemovalConfig(enabled=True, ignore_old_state=True)
    assert begin(gms, config)[0].last() is None


def test_a_new_state_can_be_ignored(gms: Gms) -> None:
    remember(gms, FULL)
    config = StatefulStaleMetadataRemovalConfig(enabled=True, ignore_new_state=True)
    remember(gms, WrittenState(), config)
    assert begin(gms)[0].last() == FULL


@pytest.mark.parametrize(
    ("config", "pipeline"),
    [(StatefulStaleMetadataRemovalConfig(enabled=False), "joins"), (None, None)],
)
def test_without_stateful_ingestion_nothing_is_stored(
    gms: Gms, config: StatefulIngestionConfig | None, pipeline: str | None
) -> None:
    handler, state = begin(gms, config, pipeline=pipeline)
    handler.store(FULL)
    state.prepare_for_commit()
    assert not handler.is_checkpointing_enabled()
    assert (handler.last(), handler.removal) == (None, None)
    assert gms.writes == []


@pytest.mark.parametrize(
    ("config", "threshold"),
    [
        (StatefulStaleMetadataRemovalConfig(enabled=True, fail_safe_threshold=40), 40),
        (StatefulStaleMetadataRemovalConfig(enabled=True, remove_stale_metadata=False), None),
        (StatefulStaleMetadataRemovalConfig(enabled=False), None),
        (None, None),
    ],
)
def test_only_a_recipe_that_allows_it_withdraws(
    gms: Gms, config: StatefulIngestionConfig | None, threshold: float | None
) -> None:
    removal = begin(gms, config)[0].removal
    assert (removal.fail_safe_threshold if removal else None) == threshold


def test_a_state_of_a_later_version_is_read() -> None:
    assert WrittenState.model_validate({"columns": [ONE], "something": "new"}).columns == [ONE]


def test_merged_states_have_the_entries_of_both() -> None:
    newer = WrittenState(
        relationships={JOIN: (ONE, THIRD)},
        columns=[THIRD],
        lineage=[
            WrittenEdge(ONE, OTHER, adds_table=False),
            WrittenEdge(ONE, THIRD, adds_table=True),
        ],
    )
    both = newer.merged_with(FULL)
    assert both.relationships == {JOIN: (ONE, THIRD)}
    assert both.columns == [ONE, OTHER, THIRD]
    assert (both.queries, both.rejected) == (FULL.queries, FULL.rejected)
    assert both.deleted_queries == FULL.deleted_queries
    assert both.lineage == [
        WrittenEdge(ONE, OTHER, adds_table=False),
        WrittenEdge(ONE, THIRD, adds_table=True),
    ]


def test_queries_can_be_dropped() -> None:
    assert FULL.without(WrittenState(queries=[query_urn(JOIN)])) == FULL.model_copy(
        update={"queries": []}
    )
    assert FULL.without(WrittenState(queries=[ONE])) == FULL


def test_an_edge_knows_its_datasets() -> None:
    edge = WrittenEdge(ONE, OTHER, adds_table=True)
    assert edge.datasets == (dataset_urn(TableId("file", "a")), dataset_urn(TableId("file", "b")))


def test_the_state_of_ten_thousand_tables_fits() -> None:
    """Test one tenth of the case: a thousand tables must fit into a tenth of the limit."""
    numbers = np.random.default_rng(1)
    tables = [TableId("snowflake", f"analytics.mart_{n % 97}.orders_{n}") for n in range(1_000)]
    columns = [column_urn(ColumnId(table, f"key_{n}")) for table in tables for n in range(7)]
    chosen = numbers.integers(len(columns), size=(5_000, 2))
    pairs = [(columns[one], columns[other]) for one, other in chosen]
    relationships = {
        f"urn:li:erModelRelationship:{numbers.bytes(16).hex()}": pair for pair in pairs
    }
    written = WrittenState(
        relationships=relationships,
        columns=columns,
        datasets=[dataset_urn(table) for table in tables],
        queries=[query_urn(urn) for urn in relationships],
        lineage=[WrittenEdge(*pair, adds_table=True) for pair in pairs],
    )
    written.prepare_for_commit()
    assert len(written.to_bytes(max_allowed_state_size=2**24)) < FOUR_MEGABYTES / 10
