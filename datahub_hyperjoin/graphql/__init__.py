"""Use DataHub's GraphQL API to list, accept and reject joins, and to find paths of joins.

The operations ship as the `.graphql` files of this folder. `operation` returns the text of one,
which runs unchanged in DataHub's own GraphQL page.
"""

from datahub_hyperjoin.graphql.decide import accept, assign_owner, reject, release_owner, undo
from datahub_hyperjoin.graphql.find import find_dataset, find_join
from datahub_hyperjoin.graphql.operations import operation
from datahub_hyperjoin.graphql.read import (
    all_joins,
    columns_above,
    joinable_columns,
    joins_in_band,
    joins_of_column,
    joins_of_dataset,
)
from datahub_hyperjoin.joins.paths import JoinPath, find_path
from datahub_hyperjoin.metadata.relationships import catalog_join

__all__ = [
    "JoinPath",
    "accept",
    "all_joins",
    "assign_owner",
    "catalog_join",
    "columns_above",
    "find_dataset",
    "find_join",
    "find_path",
    "joinable_columns",
    "joins_in_band",
    "joins_of_column",
    "joins_of_dataset",
    "operation",
    "reject",
    "release_owner",
    "undo",
]
