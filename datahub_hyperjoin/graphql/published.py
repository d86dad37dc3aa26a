"""Convert the joins of a run to `CatalogJoin` objects."""

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.joins import Cardinality, Join
from datahub_hyperjoin.metadata.confidence_bands import band_of
from datahub_hyperjoin.metadata.relationship_aspect import join_urn, oriented, to_aspect
from datahub_hyperjoin.metadata.role_context import RoleContext
from datahub_hyperjoin.metadata.urns import plain_path
from datahub_hyperjoin.tables import ColumnId


def catalog_join(join: Join) -> CatalogJoin:
    """Convert a `Join` of this run to the `CatalogJoin` that DataHub would return.

    Programs without a server can then search for paths among the joins of a run.

    Args:
        join: The join.
    """
    pairs, _ = oriented(join)
    aspect = to_aspect(join, "")
    context = RoleContext.of(join)
    verdict = join.catalog.verdict
    return CatalogJoin(
        urn=join_urn(join),
        name=aspect.name,
        pairs=tuple((_plain(left), _plain(right)) for left, right in pairs),
        cardinality=Cardinality(aspect.cardinality),
        joinability=round(join.joinability, 4),
        band=band_of(join),
        role=join.role,
        referenced=_plain(join.referenced) if join.referenced else None,
        declared=context.declared,
        left_fan_out=context.source_fan_out,
        right_fan_out=context.destination_fan_out,
        left_containment=context.source_containment,
        right_containment=context.destination_containment,
        left_counts=context.source_counts,
        right_counts=context.destination_counts,
        compared_as=context.compared_as,
        via=context.crosswalk,
        verdicts=(verdict,) if verdict else (),
    )


def _plain(column: ColumnId) -> ColumnId:
    return ColumnId(column.table, plain_path(column.path))
