"""Set up a catalog of four tables on a test double of DataHub's server."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    RelationshipFieldMappingClass,
    TagAssociationClass,
    TagPropertiesClass,
)

from datahub_hyperjoin.emit.properties import define_properties, emit_column
from datahub_hyperjoin.joins import BANDS, Cardinality, Evidence, Join, Role, band
from datahub_hyperjoin.metadata.partners import RELATIONS, Partner
from datahub_hyperjoin.metadata.relationships import join_urn, tag_context, to_aspect
from datahub_hyperjoin.metadata.urns import NAMESPACE, band_urn, dataset_urn, role_urn
from datahub_hyperjoin.tables import ColumnId, TableId, pair_of
from gms import Gms
from lakes.lake import describe


@dataclass(frozen=True)
class Shop:
    """A catalog of a shop: its server, a client, and methods that add joins."""

    gms: Gms
    graph: DataHubGraph

    def suggest(
        self,
        one: str,
        other: str,
        joinability: float,
        *,
        role: Role = Role.REFERENCE,
        compared_as: str = "",
        via: tuple[str, str] | None = None,
    ) -> str:
        """Store a join that this package suggests.

        If it has a direction, the first column refers to the second.

        Columns are written as "table.column", also those of a crosswalk. Without a direction, the
        join is many-to-many.
        """
        referring, referenced = column(one), column(other)
        left, right = pair_of(referring, referenced)
        many = Cardinality.MANY_ONE if role.is_directed else Cardinality.MANY_MANY
        evidence = Evidence(
            shared=3,
            left_containment=1.0,
            right_containment=0.5,
            cardinality=many,
            left_fan_out=1.0 if role.is_directed else 4.0,
            right_fan_out=2.0,
            compared_as=compared_as,
        )
        steps = via if left == referring or via is None else via[::-1]
        join = Join(
            left=left,
            right=right,
            joinability=joinability,
            evidence=evidence if left == referring else evidence.reversed,
            role=role,
            referenced=referenced if role.is_directed else None,
            via=(column(steps[0]), column(steps[1])) if steps else None,
        )
        urn = join_urn(join)
        self.gms.put(urn, to_aspect(join, "1"))
        tags = {
            band_urn(band(joinability)): f"{joinability:.4f}",
            role_urn(role): tag_context(join),
        }
        self.gms.put(
            urn,
            GlobalTagsClass([TagAssociationClass(tag, context=text) for tag, text in tags.items()]),
        )
        return urn

    def list_partners(self, one: str, other: str, score: float, role: Role) -> None:
        """Let two columns list each other as a run does, without a relationship."""
        left, right = column(one), column(other)
        names = {end.table: end.table.name for end in (left, right)}
        for proposal in define_properties(NAMESPACE):
            self.graph.emit(proposal)
        for own, partner, kind in zip((left, right), (right, left), RELATIONS[role], strict=True):
            unit = emit_column(own, [Partner(partner, score, kind)], names, NAMESPACE)
            self.graph.emit(unit.metadata)
            describe(self.gms, own.table.name, [own.path], platform="postgres")

    def write(self, name: str, *pairs: tuple[str, str]) -> str:
        """Store a relationship that a person made.

        Its source is the first table.
        """
        ends = [(column(one), column(other)) for one, other in pairs]
        urn = f"urn:li:erModelRelationship:{name.replace(' ', '-')}"
        aspect = ERModelRelationshipPropertiesClass(
            name=name,
            source=dataset_urn(ends[0][0].table),
            destination=dataset_urn(ends[0][1].table),
            relationshipFieldMappings=[
                RelationshipFieldMappingClass(one.path, other.path) for one, other in ends
            ],
            cardinality="N_ONE",
        )
        self.gms.put(urn, aspect)
        return urn


def table(name: str) -> TableId:
    """Return the identifier of a table of the shop."""
    return TableId("postgres", f"shop.public.{name}")


def column(name: str) -> ColumnId:
    """Return a column of the shop, such as "orders.customer"."""
    own, _, path = name.partition(".")
    return ColumnId(table(own), path)


TABLES = ("orders", "customers", "regions", "refunds")


@contextmanager
def open_shop(people: Mapping[str, str] = MappingProxyType({})) -> Iterator[Shop]:
    """Start a server with the tables of the shop and all tags, but no joins.

    If it has people, by their tokens, it requires a token, and the client has that of the first.
    """
    with Gms(people=people) as gms:
        for name in BANDS:
            gms.put(band_urn(name), TagPropertiesClass(name=f"join:suggested-{name}"))
        for role in Role:
            gms.put(role_urn(role), TagPropertiesClass(name=role.value))
        for name in TABLES:
            gms.put(dataset_urn(table(name)), DatasetPropertiesClass(name=name.title()))
        yield Shop(gms, gms.graph(retry_max_times=0, token=next(iter(people), None)))
