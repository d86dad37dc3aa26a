"""Store aspects with their system metadata, and time series."""

import threading
from collections import defaultdict
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from datahub.metadata.urns import Urn

Json = dict[str, Any]

ACTOR = "urn:li:corpuser:datahub"
"""URN of the user to whom a server without authentication attributes every request."""

ACTING = ContextVar("ACTING", default=ACTOR)
"""URN of the user who sent the request that is being answered."""

_TIME = "timestampMillis"


@dataclass(frozen=True)
class Stored:
    """An aspect with its system metadata.

    Both are replaced and never changed in place.
    """

    value: Json
    system: Json
    actor: str = field(default_factory=ACTING.get)
    """URN of the user who wrote it."""


class Store:
    """The entities that the double of DataHub's server holds, with aspects and time series.

    Code that reads and then writes must hold the lock meanwhile.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._entities: dict[str, dict[str, Stored]] = {}
        self._series: dict[str, dict[str, list[Stored]]] = defaultdict(dict)
        self._of_type: dict[str, dict[str, None]] = defaultdict(dict)

    def exists(self, urn: str) -> bool:
        """Return whether an entity has any aspect."""
        return urn in self._entities

    def get(self, urn: str, aspect: str) -> Stored | None:
        """Return the current value of an aspect."""
        return self._entities.get(urn, {}).get(aspect)

    def value(self, urn: str, aspect: str) -> Json:
        """Return the content of an aspect, or an empty dictionary if it does not exist."""
        stored = self.get(urn, aspect)
        return stored.value if stored else {}

    def aspects(self, urn: str) -> dict[str, Stored]:
        """Return all aspects of an entity, with the latest value of each time series."""
        with self.lock:
            series = self._series.get(urn, {})
            latest = {aspect: values[-1] for aspect, values in series.items()}
            return {**self._entities.get(urn, {}), **latest}

    def all_aspects(self) -> dict[tuple[str, str], Json]:
        """Return the content of every aspect, by the URN of its entity and its name."""
        with self.lock:
            urns = {*self._entities, *self._series}
            found = ((urn, self.aspects(urn).items()) for urn in urns)
            return {(urn, name): stored.value for urn, held in found for name, stored in held}

    def urns(self, entity: str) -> list[str]:
        """Return the URNs of all entities of a type, sorted."""
        with self.lock:
            return sorted(self._of_type.get(entity, ()))

    def put(self, urn: str, aspect: str, value: Json, system: Json) -> None:
        """Store an aspect in place of an earlier one.

        If the aspect exists, the server keeps its system metadata and updates only the run and the
        time: `pipelineName` remains that of the first writer.
        """
        with self.lock:
            aspects = self._entities.setdefault(urn, {})
            self._of_type[Urn.from_string(urn).entity_type][urn] = None
            before = aspects.get(aspect)
            aspects[aspect] = Stored(value, _observe(before.system, system) if before else system)

    def append(self, urn: str, aspect: str, value: Json, system: Json) -> None:
        """Append a value to a time series."""
        with self.lock:
            series = self._series[urn].setdefault(aspect, [])
            series.append(Stored(value, system))
            series.sort(key=lambda stored: stored.value[_TIME])

    def series(self, urn: str, aspect: str) -> list[Stored]:
        """Return the values of a time series, latest first."""
        with self.lock:
            return self._series.get(urn, {}).get(aspect, [])[::-1]

    def delete(self, urn: str) -> tuple[int, int]:
        """Delete an entity, and return the numbers of deleted aspects and time series values."""
        with self.lock:
            aspects = self._entities.pop(urn, {})
            self._of_type[Urn.from_string(urn).entity_type].pop(urn, None)
            series = self._series.pop(urn, {})
            return len(aspects), sum(len(values) for values in series.values())

    def delete_aspect(self, urn: str, aspect: str) -> None:
        with self.lock:
            self._entities.get(urn, {}).pop(aspect, None)


def _observe(before: Json, now: Json) -> Json:
    seen: Json = {name: now[name] for name in ("runId", "lastObserved") if name in now}
    return {**before, **seen, "lastRunId": before.get("runId")}
