"""Check, carry out and log proposals."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gms.assignments import check_assignments
from gms.patch import apply_patch
from gms.refusals import Dropped, Invalid, Malformed, Refused
from gms.registry import Registry, is_series
from gms.store import Store

Json = dict[str, Any]

_NO_RUN = "no-run-id-provided"
_PROPERTIES = "structuredProperties"


@dataclass(frozen=True)
class Proposal:
    """A requested change of one aspect."""

    urn: str
    aspect: str
    change: str
    body: Any
    system: Json = field(default_factory=dict)
    headers: Json = field(default_factory=dict)
    by: str = "ingestion"


@dataclass(frozen=True)
class Write:
    """An accepted write, even if it changed nothing."""

    urn: str
    entity: str
    aspect: str
    change: str
    body: Any
    """The aspect that was written, the payload of a PATCH, or None for a DELETE."""
    by: str
    """The writing interface: "ingestion" or "graphql"."""
    pipeline: str | None
    """Name of the pipeline that sent the write; None if the write names no pipeline."""


@dataclass(frozen=True)
class Rejection:
    """A write that was fully or partly rejected."""

    urn: str
    aspect: str
    reason: str


class Ingestion:
    """The part of the server through which all writes go."""

    def __init__(self, store: Store, registry: Registry, *, modern: bool) -> None:
        """Start with empty logs of writes and rejections."""
        self._store, self._registry, self._modern = store, registry, modern
        self._lock = threading.Lock()
        self.writes: list[Write] = []
        self.rejected: list[Rejection] = []

    def ingest(self, proposals: Sequence[Proposal], *, later: bool = False) -> None:
        """Check all proposals of one request, then carry them out.

        A proposal that does not fit the model rejects all of them. So does one that does not fit
        the stored aspects, except in asynchronous requests: their clients have a response by then.

        Args:
            proposals: The proposals of one request.
            later: Whether the request is asynchronous.

        Raises:
            Refused: A proposal is rejected.
        """
        for proposal in [self._check(proposal) for proposal in proposals]:
            self._try(proposal, later=later)

    def _try(self, proposal: Proposal, *, later: bool) -> None:
        try:
            self._carry_out(proposal)
        except Refused as refusal:
            self._reject(proposal, refusal.message)
            if not later:
                raise
        except Dropped as dropped:
            self._reject(proposal, str(dropped))

    def delete(self, urn: str, by: str) -> tuple[int, int]:
        """Delete an entity for good, and log the write."""
        entity = self._registry.expect(urn)
        aspect = self._registry.key(urn)[0]
        counts = self._store.delete(urn)
        self._log(Write(urn, entity, aspect, "DELETE", None, by, None))
        return counts

    def _check(self, proposal: Proposal) -> Proposal:
        try:
            self._registry.expect_aspect(self._registry.expect(proposal.urn), proposal.aspect)
            if proposal.change in ("UPSERT", "CREATE", "CREATE_ENTITY", "UPDATE"):
                body = self._registry.check(proposal.aspect, proposal.body)
                proposal = replace(proposal, body=body)
            elif proposal.change not in ("PATCH", "DELETE"):
                message = f"ChangeType not supported: {proposal.change}"
                raise Malformed(message)
            if self._modern and proposal.aspect == _PROPERTIES:
                self._note_missing(proposal, _assignments(proposal))
        except Refused as refusal:
            self._reject(proposal, refusal.message)
            raise
        return proposal

    def _note_missing(self, proposal: Proposal, assignments: Sequence[Json]) -> None:
        for name in check_assignments(self._store, proposal.urn, assignments):
            self._reject(proposal, f"Unexpected null value found for {name}")

    def _carry_out(self, proposal: Proposal) -> None:
        entity = self._registry.expect(proposal.urn)
        with self._store.lock:
            if proposal.change == "DELETE":
                self._store.delete_aspect(proposal.urn, proposal.aspect)
            else:
                self._write(proposal)
        pipeline = proposal.system.get("pipelineName")
        self._log(
            Write(
                urn=proposal.urn,
                entity=entity,
                aspect=proposal.aspect,
                change=proposal.change,
                body=proposal.body,
                by=proposal.by,
                pipeline=pipeline,
            )
        )

    def _write(self, proposal: Proposal) -> None:
        urn, aspect = proposal.urn, proposal.aspect
        before = self._store.get(urn, aspect)
        self._expect_absent(proposal, aspect_exists=before is not None)
        value = proposal.body
        if proposal.change == "PATCH":
            base = before.value if before else None
            patched = apply_patch(aspect, base, proposal.body, modern=self._modern)
            value = self._registry.check(aspect, patched)
        if aspect == _PROPERTIES:
            value = self._drop_undefined(urn, value)
        system = {"runId": _NO_RUN, "lastObserved": 0, **proposal.system}
        if not self._store.exists(urn):
            name, key = self._registry.key(urn)
            self._store.put(urn, name, key, system)
        (self._store.append if is_series(aspect) else self._store.put)(urn, aspect, value, system)

    def _drop_undefined(self, urn: str, value: Json) -> Json:
        missing = check_assignments(self._store, urn, value["properties"])
        kept = [it for it in value["properties"] if it["propertyUrn"] not in missing]
        return {**value, "properties": kept}

    def _expect_absent(self, proposal: Proposal, *, aspect_exists: bool) -> None:
        exists = {
            "CREATE": aspect_exists,
            "CREATE_ENTITY": self._store.exists(proposal.urn),
        }
        if not exists.get(proposal.change):
            return
        if proposal.headers.get("If-None-Match") == "*":
            message = "Dropping write per precondition header If-None-Match: *"
            raise Dropped(message)
        what = "aspect" if proposal.change == "CREATE" else "entity key"
        message = f"Cannot perform {proposal.change} since the {what} already exists."
        raise Invalid(message)

    def _reject(self, proposal: Proposal, reason: str) -> None:
        with self._lock:
            self.rejected.append(Rejection(proposal.urn, proposal.aspect, reason))

    def _log(self, write: Write) -> None:
        with self._lock:
            self.writes.append(write)


def _assignments(proposal: Proposal) -> Sequence[Json]:
    """Return the structured properties that a proposal assigns.

    In a patch, only those are found whose operation contains the whole assignment.
    """
    if proposal.change != "PATCH":
        return proposal.body["properties"] if proposal.body else ()
    payload = proposal.body
    changes = payload if isinstance(payload, list) else payload.get("patch", ())
    values = [it.get("value") for it in changes if it["op"] == "add"]
    return [it for it in values if isinstance(it, dict) and "propertyUrn" in it]
