"""The double itself: a server, and what a test does besides talking to it."""

import uuid
from collections.abc import Collection
from types import TracebackType
from typing import Any, Literal, TypeVar

import requests
from datahub._codegen.aspect import _Aspect
from datahub.emitter.serialization_helper import post_json_transform
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig
from datahub.metadata.schema_classes import CorpUserInfoClass
from typing_extensions import Self

from gms.execution import Execution
from gms.faults import Faults
from gms.ingest import Ingestion, Rejection, Write
from gms.openapi import OpenApi
from gms.registry import Registry, is_series
from gms.restli import Restli
from gms.routes import Call, Routes
from gms.server import Request, Server
from gms.store import Store
from gms.world import ACTOR, World

Json = dict[str, Any]
Version = Literal["1.5.0", "1.6.0", "1.7.0"]
Aspect = TypeVar("Aspect", bound=_Aspect)

_OPTIONAL = ("erModelRelationship", "structuredProperty", "query")
_BY_HAND: Json = {"runId": "no-run-id-provided", "lastObserved": 0}


class Gms:
    """DataHub's metadata service, as far as this project knows it.

    It holds what it is sent, checks it against the model of the installed client, and answers
    from it, by HTTP. Search finds at once what was written, which the real service does not.
    """

    def __init__(self, version: Version = "1.7.0", without: Collection[str] = ()) -> None:
        """Make a server that is not started yet.

        Args:
            version: The release it says it is, and behaves as.
            without: Entity types and aspects that it does not know.
        """
        self.version = version
        self.requests: list[Request] = []
        modern = version == "1.7.0"
        self._store, self._registry = Store(), Registry(without)
        self._ingestion = Ingestion(self._store, self._registry, modern=modern)
        self._faults, self._graphs = Faults(), list[DataHubGraph]()
        # Clients cache what a server knows by its commit.
        self._commit = uuid.uuid4().hex
        self.put(ACTOR, CorpUserInfoClass(active=True))
        self._server = Server(self._route(), self._faults, self.requests.append)

    def _route(self) -> Routes:
        routes = Routes()
        routes.add("GET", "/config", self._config)
        routes.add("GET", "/health", lambda _: {})
        Restli(self._store, self._registry, self._ingestion).mount(routes)
        openapi = OpenApi(self._store, self._registry, self._ingestion)
        missing = [it for it in _OPTIONAL if not self._registry.knows(it)]
        world = World(self._store, self._registry, self._ingestion)
        Execution(world, missing).mount(routes)
        # The endpoint is of the day of release 1.5.0, whose client does not know it.
        openapi.mount(routes, relationships=self.version != "1.5.0")
        return routes

    def __enter__(self) -> Self:
        """Start to listen."""
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, with the clients that were made here."""
        for graph in self._graphs:
            graph.close()
        self._server.stop()

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._server.url

    @property
    def writes(self) -> list[Write]:
        """Every aspect write that was carried out, in order, less those of `put` and `delete`."""
        return self._ingestion.writes

    @property
    def rejected(self) -> list[Rejection]:
        """Every aspect write that was not, and why."""
        return self._ingestion.rejected

    def graph(self, **settings: Any) -> DataHubGraph:  # noqa: ANN401 - as the client has them
        """A client of this server, which is closed with it."""
        graph = DataHubGraph(DatahubClientConfig(server=self.url, **settings))
        self._graphs.append(graph)
        return graph

    def put(self, urn: str, aspect: _Aspect, *, pipeline: str | None = None) -> None:
        """Store an aspect, as a connector would, unless it breaks the model."""
        name = aspect.get_aspect_name()
        self._registry.expect_aspect(self._registry.expect(urn), name)
        value = self._registry.check_typed(aspect)
        system = {**_BY_HAND, **({"pipelineName": pipeline, "runId": "put"} if pipeline else {})}
        if not self._store.exists(urn):
            self._store.put(urn, *self._registry.key(urn), system)
        (self._store.append if is_series(name) else self._store.put)(urn, name, value, system)

    def get(self, urn: str, kind: type[Aspect]) -> Aspect | None:
        """An aspect as it is stored; of a time series the latest value."""
        stored = self._store.aspects(urn).get(kind.get_aspect_name())
        return kind.from_obj(post_json_transform(stored.value)) if stored else None

    def system(self, urn: str, kind: type[_Aspect]) -> Json:
        """What is stored about the writing of an aspect: its run, its pipeline."""
        stored = self._store.aspects(urn).get(kind.get_aspect_name())
        return dict(stored.system) if stored else {}

    def urns(self, entity: str) -> list[str]:
        """All entities of a type, the soft-deleted ones too."""
        return self._store.urns(entity)

    def delete(self, urn: str) -> None:
        """Hard-delete an entity."""
        self._store.delete(urn)

    def graphql(self, query: str, *, refused: bool = False, **variables: Any) -> Json:  # noqa: ANN401 - JSON
        """Ask by GraphQL, as a person in DataHub's pages does.

        Args:
            query: One operation.
            refused: Whether errors are expected: the whole response comes back then.
            variables: Those of the operation.

        Returns:
            The data.
        """
        body: Any = {"query": query, "variables": variables}
        response = requests.post(f"{self.url}/api/graphql", json=body, timeout=60).json()
        if refused:
            assert response.get("errors"), "the server refused nothing"
            return response
        assert not response.get("errors"), response["errors"]
        return response["data"]

    def fail(
        self, pattern: str, status: int = 500, *, times: int = 1, message: str = "out of order"
    ) -> None:
        """Let requests fail.

        Args:
            pattern: Regular expression, searched in method and path, as in "POST /aspects".
            status: What they are answered with.
            times: How many of them.
            message: What they are told.
        """
        self._faults.fail(pattern, status=status, times=times, message=message)

    def _config(self, _: Call) -> Json:
        return {
            "noCode": "true",
            "retention": "true",
            "statefulIngestionCapable": True,
            "patchCapable": True,
            "supportsImpactAnalysis": True,
            "timeZone": "GMT",
            "versions": {
                "acryldata/datahub": {"version": f"v{self.version}", "commit": self._commit}
            },
            "telemetry": {"enabledCli": False, "enabledIngestion": False},
            "managedIngestion": {"enabled": True, "defaultCliVersion": self.version},
            "datahub": {"serverType": "quickstart", "serverEnv": "core"},
            "datasetUrnNameCasing": False,
            "models": {},
        }
