"""Write the joins of each schema or folder as a semantic model of DataHub.

A semantic model lists tables, and the relationships by which tools and agents combine them. It
follows the same rule as exports, which `joins.semantic_layers` has.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    AuditStampClass,
    ERModelRelationshipCardinalityClass,
    SystemMetadataClass,
    _Aspect,
)
from typing_extensions import override

from datahub_hyperjoin.catalog.entities import is_outside_runs
from datahub_hyperjoin.catalog.versions import SemanticModelInfo
from datahub_hyperjoin.emit.config import JoinChoice
from datahub_hyperjoin.emit.layer import Info, OwnEntities, Writing, unit_of
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.emit.watched_joins import is_wanted
from datahub_hyperjoin.joins.semantic_layers import SafeJoin, advise, select_safe
from datahub_hyperjoin.metadata.relationships import WITHDRAWN_BY, catalog_join
from datahub_hyperjoin.metadata.urns import (
    AUTHOR,
    OWN_MODELS,
    SEMANTIC_MODEL,
    dataset_urn,
    semantic_model_urn,
)
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.visible import visible

_CHOSEN = {
    JoinChoice.ACCEPTED: "People accepted each of them.",
    JoinChoice.DECLARED: "People accepted each of them, or the catalog declares it.",
    JoinChoice.SAFE: "People accepted each of them, the catalog declares it, or HyperJoin verified "
    "it on the data.",
}


def group_by_schema(joins: Iterable[SafeJoin]) -> dict[str, list[SafeJoin]]:
    """Group joins by the URN of their semantic model, which is that of the referring table."""
    # A model of connected tables would change its identity with each new join between two of them,
    # and lose the owners and tags that people gave it.
    grouped: dict[str, list[SafeJoin]] = defaultdict(list)
    for join in sorted(joins, key=lambda join: (join.referring, join.referenced, join.columns)):
        grouped[semantic_model_urn(join.referring)].append(join)
    return dict(sorted(grouped.items()))


def name_models(models: Mapping[str, Sequence[SafeJoin]]) -> dict[str, str]:
    """Name each semantic model after the schema or folder of its referring tables."""
    tables = {urn: joins[0].referring for urn, joins in models.items()}
    names = {urn: table.parent or table.platform for urn, table in tables.items()}
    shared = Counter(names.values())
    return {
        urn: visible(f"Joins of {name}" + f" ({table.platform}, {table.env})" * (shared[name] > 1))
        for (urn, name), table in zip(names.items(), tables.values(), strict=True)
    }


def name_tables(joins: Iterable[SafeJoin], titles: Mapping[TableId, str]) -> dict[TableId, str]:
    """Name each table of a semantic model as people know it, or in full where that is not clear."""
    # DataHub's pages find the dataset by the name that they show for it.
    tables = sorted({*chain(*((join.referring, join.referenced) for join in joins))})
    several = Counter(titles[table] for table in tables)
    return {
        table: visible(titles[table] if several[titles[table]] == 1 else table.name)
        for table in tables
    }


def model_info(
    name: str,
    joins: Sequence[SafeJoin],
    tables: Mapping[TableId, str],
    *,
    choice: JoinChoice,
    now: int,
) -> SemanticModelInfo:
    """Return the aspect that holds the tables and joins of a semantic model."""
    stamp = AuditStampClass(time=now, actor=AUTHOR).to_obj()
    return SemanticModelInfo.from_obj(
        {
            "name": name,
            "description": (
                "Joins that repeat no row of the table from which they lead. "
                f"{_CHOSEN[choice]} HyperJoin keeps this model up to date."
            ),
            "created": stamp,
            "lastModified": stamp,
            # Servers of 1.7 find the tables of a model here. Later ones ask each dataset for the
            # one model to which it belongs, which is not for this source to say.
            "datasets": [*map(dataset_urn, tables)],
            "relationships": [_relationship(join, tables) for join in joins],
        }
    )


def _relationship(join: SafeJoin, tables: Mapping[TableId, str]) -> dict[str, Any]:
    kinds = ERModelRelationshipCardinalityClass
    start, end = tables[join.referring], tables[join.referenced]
    return {
        "name": visible(join.join.arrows),
        "from": start,
        "fromColumns": [*join.referring_columns],
        "to": end,
        "toColumns": [*join.referenced_columns],
        "cardinality": kinds.ONE_ONE if join.is_one_to_one else kinds.N_ONE,
        "aiContext": {"instructions": advise(join, start, end)},
    }


class SemanticModels(OwnEntities):
    """For each schema or folder, a semantic model of its joins."""

    key = "semantic_models"
    entity = "semanticModel"
    info = SemanticModelInfo
    needs: ClassVar = {"semanticModel": (SEMANTIC_MODEL, "status")}
    records = 1

    @override
    def urns(self, publication: Publication) -> Iterable[str]:
        return map(semantic_model_urn, publication.tables)

    @override
    def shown_by(self, aspects: Mapping[type[_Aspect], _Aspect]) -> Iterable[str]:
        info = aspects.get(SemanticModelInfo)
        return info.datasets if isinstance(info, SemanticModelInfo) else ()

    @override
    def is_own(self, urn: str, info: Info, namespace: str) -> bool:
        return urn.startswith(OWN_MODELS)

    @override
    def is_edited(self, info: Info, stamp: SystemMetadataClass | None) -> bool:
        return stamp is not None and is_outside_runs(stamp)

    # The aspect has no custom properties, and a hidden model needs no definition.

    @override
    def withdrawn_by(self, info: Info) -> str | None:
        noted = info.nativeDefinition if isinstance(info, SemanticModelInfo) else None
        return (noted or "").removeprefix(f"{WITHDRAWN_BY}: ") or None

    @override
    def note_withdrawal(self, info: Info, run_id: str) -> None:
        if isinstance(info, SemanticModelInfo):
            info.nativeDefinition = f"{WITHDRAWN_BY}: {run_id}"

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        publication, choice = run.publication, JoinChoice(run.config.semantic_models)
        known = (*publication.joins, *publication.shared)
        joins, _ = select_safe(catalog_join(join) for join in known if is_wanted(join, choice))
        models = group_by_schema(joins)
        for urn, name in name_models(models).items():
            if urn not in run.existing.closed:
                tables = name_tables(models[urn], publication.titles)
                info = model_info(name, models[urn], tables, choice=choice, now=publication.now)
                yield from self.put(run, urn, [unit_of(urn, info)])
