"""Damaged answers of DataHub's server, to GraphQL, REST and the scroll endpoint."""

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datahub.ingestion.graph.client import DataHubGraph
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter

from datahub_hyperjoin.catalog import PlatformInstance, Scope
from datahub_hyperjoin.catalog.dataset_filter import DatasetFilter
from datahub_hyperjoin.catalog.history import History
from datahub_hyperjoin.catalog.read import read_catalog
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql import all_joins, find_dataset, find_path
from datahub_hyperjoin.locations import File, FileFormat
from datahub_hyperjoin.tables import Table
from faults.damage import damage, damage_json
from faults.shared_catalog import prepare
from faults.watched import Try
from lake import write_flights
from shop import open_shop, table

Read = Callable[[DataHubGraph], object]


class _Damaging(HTTPAdapter):
    """Damages one answer, the one with the given number."""

    draw: random.Random | None = None
    left = 0
    seen = 0

    def send(self, request: PreparedRequest, *args: Any, **named: Any) -> Response:  # noqa: ANN401 - passed on
        """Send a request, and perhaps damage its answer."""
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
    """Prepare a server with joins, and everything that reads from it."""
    with tempfile.TemporaryDirectory() as name, open_shop() as shop:
        write_flights(Path(name))
        prepare(shop.gms, Path(name))
        shop.suggest("orders.customer", "customers.id", 0.9)
        shop.suggest("customers.region", "regions.id", 0.8)
        shop.write("by hand", ("refunds.order", "orders.id"))
        adapter = _Damaging()
        graph = shop.graph
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


def _count(read: Read, graph: DataHubGraph, adapter: _Damaging) -> int:
    adapter.seen = 0
    read(graph)
    return adapter.seen


def _reads(folder: Path) -> Sequence[Read]:
    ends = table("orders"), table("regions")
    instances = [PlatformInstance(platform=name, env="PROD") for name in ("file", "postgres")]
    scope = Scope(
        instances=tuple(instances),
        dataset_filter=DatasetFilter(),
        known_only=False,
        max_queries=100,
        namespace="hyperjoin",
    )
    tables = [
        Table(id=id_, title=id_.name, location=File(uri=str(folder), format=FileFormat.CSV), size=1)
        for id_ in (table("orders"), table("customers"))
    ]

    def read_all(graph: DataHubGraph) -> object:
        history = History()
        return read_catalog(graph, tables, scope=scope, history=history, warn=lambda *_: None)

    return (
        lambda graph: all_joins(graph, hidden=True),
        lambda graph: find_dataset(graph, "Orders"),
        lambda graph: find_path(all_joins(graph), *ends),
        read_all,
    )
