"""Define the test double: a server, with methods that set up and inspect its content."""

import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
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
from gms.store import ACTOR, Store
from gms.world import World

Json = dict[str, Any]
Version = Literal["1.5.0", "1.6.0", "1.7.0"]
Aspect = TypeVar("Aspect", bound=_Aspect)

_OPTIONAL = ("erModelRelationship", "structuredProperty", "query", "document")
_BY_HAND: Json = {"runId": "no-run-id-provided", "lastObserved": 0}


class Gms:
    """A double of DataHub's metadata service, with all behaviour that this project relies on.

    It checks proposals against the model of the installed client, stores them and serves them over
    HTTP. Unlike in the real service, search finds new metadata at once.
    """

    def __init__(
        self,
        version: Version = "1.7.0",
        without: Collection[str] = (),
        people: Mapping[str, str] = MappingProxyType({}),
        schema: Path | None = None,
    ) -> None:
        """Create a server without starting it.

        Args:
            version: The DataHub release whose behaviour it has.
            without: Entity types and aspects that it does not support.
            people: The URN of each person, by the token of that person; without any, the server
                asks nobody for a token.
            schema: A folder with the whole of DataHub's GraphQL schema, for which other programs
                ask; by default, the server has the part that this project asks for.
        """
        self.version, self._schema = version, schema
        self.requests: list[Request] = []
        modern = version == "1.7.0"
        self._store, self._registry = Store(), Registry(without)
        self._ingestion = Ingestion(self._store, self._registry, modern=modern)
        self._faults, self._graphs = Faults(), list[DataHubGraph]()
        # Clients cache a server's capabilities by its commit.
        self._commit = uuid.uuid4().hex
        self.put(ACTOR, CorpUserInfoClass(active=True))
        self._server = Server(self._route(), self._faults, self.requests.append, people)

    def _route(self) -> Routes:
        routes = Routes()
        routes.add("GET", "/config", self._config)
        routes.add("GET", "/health", lambda _: {})
        Restli(self._store, self._registry, self._ingestion).mount(routes)
        openapi = OpenApi(self._store, self._registry, self._ingestion)
        missing = [it for it in _OPTIONAL if not self._registry.knows(it)]
        world = World(self._store, self._registry, self._ingestion)
        Execution(world, missing, self._schema).mount(routes)
        # The endpoint is of the day of release 1.5.0, whose client does not know it.
        openapi.mount(routes, relationships=self.version != "1.5.0")
        return routes

    def __enter__(self) -> Self:
        """Start the server."""
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server and close its clients."""
        for graph in self._graphs:
            graph.close()
        self._server.stop()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def writes(self) -> list[Write]:
        """All writes that clients sent and the double accepted, in order."""
        return self._ingestion.writes

    @property
    def rejected(self) -> list[Rejection]:
        """All rejected writes, with their reasons."""
        return self._ingestion.rejected

    def graph(self, **settings: Any) -> DataHubGraph:  # noqa: ANN401 - as the client has them
        """Return a client of this server, which is closed together with the server."""
        graph = DataHubGraph(DatahubClientConfig(server=self.url, **settings))
        self._graphs.append(graph)
        return graph

    def put(self, urn: str, aspect: _Aspect, *, pipeline: str | None = None) -> None:
        """Check an aspect against DataHub's metadata model, then store it as a connector would."""
        name = aspect.get_aspect_name()
        self._registry.expect_aspect(self._registry.expect(urn), name)
        value = self._registry.check_typed(aspect)
        system = {**_BY_HAND, **({"pipelineName": pipeline, "runId": "put"} if pipeline else {})}
        if not self._store.exists(urn):
            self._store.put(urn, *self._registry.key(urn), system)
        (self._store.append if is_series(name) else self._store.put)(urn, name, value, system)

    def get(self, urn: str, kind: type[Aspect]) -> Aspect | None:
        """Return a stored aspect.

        For a time series, this is the latest value.
        """
        stored = self._store.aspects(urn).get(kind.get_aspect_name())
        return kind.from_obj(post_json_transform(stored.value)) if stored else None

    def system(self, urn: str, kind: type[_Aspect]) -> Json:
        """Return the system metadata of an aspect, such as its run and its pipeline."""
        stored = self._store.aspects(urn).get(kind.get_aspect_name())
        return dict(stored.system) if stored else {}

    def aspects(self, urn: str) -> dict[str, Json]:
        """Return the content of all aspects of an entity."""
        return {name: stored.value for name, stored in self._store.aspects(urn).items()}

    def all_aspects(self) -> dict[tuple[str, str], Json]:
        """Return the content of every aspect, by the URN of its entity and its name."""
        return self._store.all_aspects()

    def urns(self, entity: str) -> list[str]:
        """Return the URNs of all entities of a type, including soft-deleted ones."""
        return self._store.urns(entity)

    def delete(self, urn: str) -> None:
        """Delete an entity for good."""
        self._store.delete(urn)

    def graphql(self, query: str, *, refused: bool = False, **variables: Any) -> Json:  # noqa: ANN401 - JSON
        """Run a GraphQL operation, as a user of DataHub's pages does.

        Args:
            query: The operation.
            refused: Whether errors are expected; if so, the whole response is returned.
            variables: Variables of the operation.

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
        """Make the next matching requests fail.

        Args:
            pattern: Regular expression, searched in method and path, as in "POST /aspects".
            status: The HTTP status of the response.
            times: Number of requests that fail.
            message: The message of the response.
        """
        self._faults.fail(pattern, status=status, times=times, message=message)

    def reply(self, pattern: str, body: str, *, times: int = 1) -> None:
        """Answer the next matching requests with a fixed body, without carrying them out.

        Args:
            pattern: Regular expression, searched in method and path, as in "POST /aspects".
            body: The whole answer, such as `null` or the page of a login.
            times: Number of requests that are answered so.
        """
        self._faults.reply(pattern, body, times=times)

    def halve(self, pattern: str, *, times: int = 1) -> None:
        """Omit half of the entities from the answers to the next matching requests.

        Args:
            pattern: Regular expression, searched in method and path, as in "POST /aspects".
            times: Number of answers that are halved.
        """
        self._faults.halve(pattern, times=times)

    def heal(self) -> None:
        """Remove all failures and wrong answers that have not occurred yet."""
        self._faults.heal()

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
