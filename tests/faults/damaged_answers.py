"""Damage answers of DataHub's server to GraphQL, REST and scroll requests."""

import json
import logging
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AuditStampClass,
    DatasetFieldProfileClass,
    DatasetProfileClass,
    QueryPropertiesClass,
    QueryStatementClass,
    QuerySubjectClass,
    QuerySubjectsClass,
    UpstreamLineageClass,
)
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter

from datahub_hyperjoin.catalog.entities import fetch_each
from datahub_hyperjoin.catalog.read import read_catalog
from datahub_hyperjoin.catalog.scope import DatasetFilter, PlatformInstance, Scope
from datahub_hyperjoin.catalog.written_state import History, WrittenState
from datahub_hyperjoin.emit.existing import read_published_entities
from datahub_hyperjoin.emit.pipelines import read_other_pipelines
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql import (
    accept,
    all_joins,
    columns_above,
    find_dataset,
    find_join,
    find_path,
    joinable_columns,
    joins_of_column,
)
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.metadata.urns import column_urn
from datahub_hyperjoin.tables import Table
from faults.damage import damage, damage_json
from faults.shared_catalog import AIRLINES, FLIGHTS, prepare
from faults.watched import Try
from gms import Gms
from lakes.lake import table, write_flights
from lakes.quick_runs import ALL, CARRIER, Runs, urn_of

_NAMESPACE = "io.datahub.hyperjoin"
_QUERY = "urn:li:query:by-hand"
_NOW = AuditStampClass(time=1, actor="urn:li:corpuser:ada")

Read = Callable[[DataHubGraph], object]


class _Damaging(HTTPAdapter):
    """An HTTP adapter that damages one chosen answer."""

    draw: random.Random | None = None
    left = 0
    seen = 0

    def send(self, request: PreparedRequest, *args: Any, **named: Any) -> Response:  # noqa: ANN401 - passed on
        """Send a request, and damage its answer if that answer was chosen."""
        response = super().send(request, *args, **named)
        self.seen += 1
        self.left -= 1
        if self.draw and not self.left:
            content = response.content
            response._content = _damage_answer(content, self.draw)  # noqa: SLF001 - nothing sets it
        return response


def _damage_answer(content: bytes, draw: random.Random) -> bytes:
    try:
        answer = json.loads(content)
    except ValueError:
        return damage(content, draw, content)
    if draw.random() < 1 / 4:
        return damage(content, draw, content)
    return json.dumps(damage_json(answer, draw)).encode()


@contextmanager
def answers() -> Iterator[Try]:
    """Yield a function that reads metadata from a server and damages one of its answers."""
    logging.disable()  # DataHub's client logs much of what it cannot read
    with tempfile.TemporaryDirectory() as name, Gms() as gms:
        _fill(gms, Path(name))
        adapter, graph = _Damaging(), gms.graph(retry_max_times=0)
        graph._session.mount("http://", adapter)  # noqa: SLF001 - as its requests go
        reads = _reads(Path(name))
        lengths = [_count(read, graph, adapter) for read in reads]

        def attempt(draw: random.Random) -> str:
            at = draw.randrange(len(reads))
            adapter.draw, adapter.left = draw, draw.randint(1, lengths[at])
            try:
                reads[at](graph)
            except HyperJoinError:
                pass
            finally:
                adapter.draw = None
            return ""

        yield attempt


def _fill(gms: Gms, folder: Path) -> None:
    write_flights(folder)
    prepare(gms, folder)
    Runs(gms, folder)(ALL)
    counts = DatasetFieldProfileClass(fieldPath="carrier", uniqueCount=40, nullCount=0)
    gms.put(AIRLINES, DatasetProfileClass(timestampMillis=1, rowCount=40, fieldProfiles=[counts]))
    sql = "SELECT * FROM flights JOIN airlines USING (carrier)"
    query = QueryPropertiesClass(QueryStatementClass(sql, "SQL"), "MANUAL", _NOW, _NOW)
    gms.put(_QUERY, query)
    gms.put(_QUERY, QuerySubjectsClass([QuerySubjectClass(FLIGHTS), QuerySubjectClass(AIRLINES)]))


def _count(read: Read, graph: DataHubGraph, adapter: _Damaging) -> int:
    adapter.seen = 0
    read(graph)
    return adapter.seen


def _ignore(*_: str) -> None:
    """Ignore a warning."""


def _reads(folder: Path) -> Sequence[Read]:
    ends = table("airports.csv"), table("planes.csv")
    own, join, queries = column_urn(CARRIER[0]), urn_of(CARRIER), [_QUERY]
    return (
        lambda graph: all_joins(graph, hidden=True),
        lambda graph: find_dataset(graph, "flights.csv"),
        lambda graph: find_path(all_joins(graph), *ends, many_to_many=True),
        lambda graph: find_join(graph, "flights.csv.carrier = airlines.csv.carrier"),
        lambda graph: joins_of_column(graph, FLIGHTS, "carrier", hidden=True),
        lambda graph: joinable_columns(graph, own, namespace=_NAMESPACE),
        lambda graph: columns_above(graph, 0.5, namespace=_NAMESPACE),
        lambda graph: accept(graph, join, why="same code"),
        lambda graph: read_other_pipelines(graph, "another", _ignore),
        lambda graph: fetch_each(graph, "dataset", [FLIGHTS], UpstreamLineageClass),
        lambda graph: read_published_entities(
            graph, queries, written=queries, unseen=(), hiders=(), warn=_ignore
        ),
        lambda graph: _read_all(graph, folder),
    )


def _read_all(graph: DataHubGraph, folder: Path) -> object:
    scope = Scope(
        instances=(PlatformInstance(platform="file", env="PROD"),),
        dataset_filter=DatasetFilter(),
        known_only=False,
        max_queries=100,
        namespace=_NAMESPACE,
    )
    tables = [
        Table(id=id_, title=id_.name, location=File(uri=str(folder), format="csv"), size=1)
        for id_ in (table("flights.csv"), table("airlines.csv"))
    ]
    written = {urn_of(pair): (column_urn(pair[0]), column_urn(pair[1])) for pair in ALL}
    history = History(own=WrittenState(relationships=written))
    return read_catalog(graph, tables, scope=scope, history=history, warn=_ignore)
