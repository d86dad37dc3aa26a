"""Convert the joins of a run to `CatalogJoin` objects, as if read from the catalog."""

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.relationship_aspect import band, join_urn, oriented, to_aspect
from datahub_hyperjoin.role_context import RoleContext
from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.urns import plain_path


def catalog_join(join: Join) -> CatalogJoin:
    """Convert a run's `Join` to a `CatalogJoin`, as `all_joins` would read it from DataHub.

    Programs without a server can so search for paths among the joins of a run.

    Args:
        join: The join.
    """
    pairs, evidence = oriented(join)
    context = RoleContext.of(join)
    verdict = join.catalog.verdict
    return CatalogJoin(
        urn=join_urn(join),
        name=to_aspect(join, "").name,
        pairs=tuple((_plain(left), _plain(right)) for left, right in pairs),
        cardinality=evidence.cardinality,
        joinability=round(join.joinability, 4),
        band=band(join.joinability),
        role=join.role,
        referenced=_plain(join.referenced) if join.referenced else None,
        declared=context.declared,
        left_fan_out=context.source_fan_out,
        right_fan_out=context.destination_fan_out,
        left_containment=context.source_containment,
        right_containment=context.destination_containment,
        verdicts=(verdict,) if verdict else (),
    )


def _plain(column: ColumnId) -> ColumnId:
    return ColumnId(column.table, plain_path(column.path))
