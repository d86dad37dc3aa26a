"""What all kinds of metadata that a run can write have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AssertionInfoClass,
    ChangeTypeClass,
    DocumentInfoClass,
    ERModelRelationshipPropertiesClass,
    GlossaryTermInfoClass,
    QueryPropertiesClass,
    StatusClass,
    SystemMetadataClass,
    _Aspect,
)
from datahub.utilities.urns.urn import guess_entity_type
from requests import RequestException

from datahub_hyperjoin.catalog.versions import SemanticModelInfo
from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.client_errors import explain
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.errors import RefusedError
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.metadata.relationships import MODEL_VERSION, WITHDRAWN_BY
from datahub_hyperjoin.metadata.urns import AUTHOR
from datahub_hyperjoin.progress import Count

if TYPE_CHECKING:
    from datahub_hyperjoin.emit.existing import ExistingState

Info = (
    AssertionInfoClass
    | ERModelRelationshipPropertiesClass
    | QueryPropertiesClass
    | DocumentInfoClass
    | GlossaryTermInfoClass
    | SemanticModelInfo
)
"""The aspect without which people do not see an entity that this source created."""


@dataclass(frozen=True, kw_only=True)
class Writing:
    """What a run writes, and the record of what it has written."""

    publication: Publication
    config: EmitConfig
    existing: "ExistingState"
    written: WrittenState
    """Receives everything that is written."""

    graph: DataHubGraph | None
    """DataHub's server, where definitions are committed before any value is sent; None if the run
    has no server or writes nothing. Then each layer follows its definitions."""

    count: Count
    """Receives the number of joins that a layer cannot represent."""

    run_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """The metadata that an earlier run wrote and this run does not."""

    last: WrittenState
    current: WrittenState
    namespace: str

    @cached_property
    def stale(self) -> WrittenState:
        """The part of the last state that the current one lacks."""
        stale = self.last.without(self.current)
        stale.prepare_for_commit()
        return stale


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSize:
    """The number of tables and columns that a run compares."""

    tables: int
    columns: int = 0
    """Number of columns of the tables that DataHub describes."""

    described: int = 0
    """Number of tables that DataHub describes."""

    # How many columns join is not known before the tables are read. The shares below are those of
    # the quick start's lake and of small databases; other lakes have half or twice as many joins.

    @property
    def joins(self) -> float:
        """Expected number of joins, and of columns that have one."""
        # Ten columns of a table that DataHub does not describe, and four joins of ten columns.
        return 0.4 * (self.columns + 10 * (self.tables - self.described))


class Layer(ABC):
    """A kind of metadata: its name in the recipe, its aspects, and how it comes and goes."""

    key: ClassVar[str]
    """The key of the recipe's section `emit` that turns the layer on."""

    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Names of the aspects that a server must have, by entity type."""

    fields: ClassVar[tuple[str, ...]] = ()
    """The fields of the written state that hold only this layer."""

    records: ClassVar[int] = 0
    """The number of records of a first run, besides those for each table and join."""

    per_table: ClassVar[float] = 0
    per_join: ClassVar[float] = 0

    def is_on(self, config: EmitConfig) -> bool:
        """Return whether the recipe turns the layer on."""
        return bool(getattr(config, self.key))

    @abstractmethod
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        """Yield the metadata of a run's joins, and record it in `run.written`."""

    @abstractmethod
    def withdraw(self, gone: Withdrawal) -> Iterator[MetadataWorkUnit]:
        """Yield the changes that remove what this run no longer writes."""


def _notes(info: Any) -> dict[str, str]:  # noqa: ANN401 - most classes have the field
    notes: dict[str, str] = info.customProperties
    return notes


class OwnEntities(Layer):
    """A layer of entities that this source creates, rather than of parts of others' entities."""

    entity: ClassVar[str]
    info: ClassVar[type[Info]]

    read: ClassVar[tuple[type[_Aspect], ...]] = ()
    """Further aspects that tell what an entity shows."""

    outlives_edits: ClassVar[bool] = False
    """Whether an entity that a person edited stays in use, without being written or hidden."""

    def urns(self, publication: Publication) -> Iterable[str]:
        """Return the URNs of the entities that a run may write."""
        return ()

    def shown_by(self, aspects: Mapping[type[_Aspect], _Aspect]) -> Iterable[str]:
        """Return the URNs of the datasets and columns that an entity shows."""
        return ()

    def is_edited(self, info: Info, stamp: SystemMetadataClass | None) -> bool:
        """Return whether a person edited an entity, given its aspect and the stamp of its write."""
        # An editor other than ingestion is a person.
        stamped = getattr(info, "lastModified", None)
        return stamped is not None and stamped.actor != AUTHOR

    def is_own(self, urn: str, info: Info, namespace: str) -> bool:
        """Return whether this source created an entity."""
        return MODEL_VERSION in _notes(info)

    def withdrawn_by(self, info: Info) -> str | None:
        """Return the ID of the run that hid an entity, as it notes there; None if none does."""
        return _notes(info).get(WITHDRAWN_BY)

    def note_withdrawal(self, info: Info, run_id: str) -> None:
        """Note in an entity that a run hides it."""
        _notes(info)[WITHDRAWN_BY] = run_id

    def put(
        self, run: Writing, urn: str, units: Iterable[MetadataWorkUnit]
    ) -> Iterator[MetadataWorkUnit]:
        """Write an entity, show it if an earlier run hid it, and record it."""
        yield from units
        if urn in run.existing.hidden:
            yield unit_of(urn, StatusClass(removed=False))
        run.written.queries.append(urn)

    def withdraw(self, gone: Withdrawal) -> Iterator[MetadataWorkUnit]:
        """Hide entities rather than delete them: a link to one still leads to it."""
        for urn in gone.stale.queries:
            if guess_entity_type(urn) == self.entity:
                yield unit_of(urn, StatusClass(removed=True))


def unit_of(urn: str, aspect: _Aspect, *, primary: bool = False) -> MetadataWorkUnit:
    """Write an aspect; if `primary`, DataHub's removal of stale entities hides the entity later."""
    proposal = MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect)
    return proposal.as_workunit(is_primary_source=primary)


def create(urn: str, aspect: _Aspect) -> MetadataChangeProposalWrapper:
    """Create an aspect; the server drops the write without an error if the aspect exists."""
    create, headers = ChangeTypeClass.CREATE, {"If-None-Match": "*"}
    return MetadataChangeProposalWrapper(
        entityUrn=urn, aspect=aspect, changeType=create, headers=headers
    )


def create_missing_definitions(
    proposals: Iterable[MetadataChangeProposalWrapper], graph: DataHubGraph | None
) -> Iterator[MetadataWorkUnit]:
    """Create the structured properties and tags that do not exist yet."""
    # Definitions that exist are kept, since a person may have changed them. The others are
    # committed at once, because the server rejects metadata that refers to an unknown definition.
    if graph is None:
        yield from (proposal.as_workunit(is_primary_source=False) for proposal in proposals)
        return
    for entity_type, group in groupby(proposals, key=lambda proposal: proposal.entityType):
        wanted = {(str(each.entityUrn), str(each.aspectName)): each for each in group}
        urns, names = (sorted({*parts}) for parts in zip(*wanted, strict=True))
        # If the server cannot be read, all are sent. That does no harm, because each proposal only
        # creates: the server keeps an aspect that it has.
        with suppress(RequestException, ValueError, TypeError):
            for urn, aspects in graph.get_entities(entity_type, urns, names).items():
                for name in aspects:
                    wanted.pop((urn, name), None)
        for proposal in wanted.values():
            _commit(proposal, graph)


def _commit(proposal: MetadataChangeProposalWrapper, graph: DataHubGraph) -> None:
    try:
        graph.emit_mcp(proposal)
    except OperationalError as error:
        reason = explain(error, graph.config.token)
        raise RefusedError.definition(str(proposal.entityUrn), reason=reason) from error
