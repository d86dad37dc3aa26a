"""What the server keeps: aspects with their system metadata, and time series."""

import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from datahub.metadata.urns import Urn

Json = dict[str, Any]

_TIME = "timestampMillis"


@dataclass(frozen=True)
class Stored:
    """An aspect, and who wrote it when. Neither is ever changed in place."""

    value: Json
    system: Json


class Store:
    """All entities. Whoever reads in order to write holds the lock meanwhile."""

    def __init__(self) -> None:
        """Start empty."""
        self.lock = threading.RLock()
        self._entities: dict[str, dict[str, Stored]] = {}
        self._series: dict[str, dict[str, list[Stored]]] = defaultdict(dict)
        self._of_type: dict[str, dict[str, None]] = defaultdict(dict)

    def exists(self, urn: str) -> bool:
        """Whether anything is stored about an entity."""
        return urn in self._entities

    def get(self, urn: str, aspect: str) -> Stored | None:
        """An aspect as it is now."""
        return self._entities.get(urn, {}).get(aspect)

    def value(self, urn: str, aspect: str) -> Json:
        """An aspect's content; empty if there is none."""
        stored = self.get(urn, aspect)
        return stored.value if stored else {}

    def aspects(self, urn: str) -> dict[str, Stored]:
        """All aspects of an entity, with the latest of each time series."""
        with self.lock:
            series = self._series.get(urn, {})
            latest = {aspect: values[-1] for aspect, values in series.items()}
            return {**self._entities.get(urn, {}), **latest}

    def urns(self, entity: str) -> list[str]:
        """All entities of a type, in order."""
        with self.lock:
            return sorted(self._of_type.get(entity, ()))

    def put(self, urn: str, aspect: str, value: Json, system: Json) -> None:
        """Store an aspect.

        Of an aspect that is there already the server keeps the metadata and takes over the run and
        the time only: `pipelineName` stays that of whoever wrote it first.
        """
        with self.lock:
            aspects = self._entities.setdefault(urn, {})
            self._of_type[Urn.from_string(urn).entity_type][urn] = None
            before = aspects.get(aspect)
            aspects[aspect] = Stored(value, _observe(before.system, system) if before else system)

    def append(self, urn: str, aspect: str, value: Json, system: Json) -> None:
        """Store one more value of a time series."""
        with self.lock:
            series = self._series[urn].setdefault(aspect, [])
            series.append(Stored(value, system))
            series.sort(key=lambda stored: stored.value[_TIME])

    def series(self, urn: str, aspect: str) -> list[Stored]:
        """A time series, latest first."""
        with self.lock:
            return self._series.get(urn, {}).get(aspect, [])[::-1]

    def delete(self, urn: str) -> tuple[int, int]:
        """Forget an entity: how many aspects, and how many values of time series, are gone."""
        with self.lock:
            aspects = self._entities.pop(urn, {})
            self._of_type[Urn.from_string(urn).entity_type].pop(urn, None)
            series = self._series.pop(urn, {})
            return len(aspects), sum(len(values) for values in series.values())

    def delete_aspect(self, urn: str, aspect: str) -> None:
        """Forget one aspect."""
        with self.lock:
            self._entities.get(urn, {}).pop(aspect, None)


def _observe(before: Json, now: Json) -> Json:
    seen: Json = {name: now[name] for name in ("runId", "lastObserved") if name in now}
    return {**before, **seen, "lastRunId": before.get("runId")}
