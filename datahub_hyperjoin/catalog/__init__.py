"""List the tables of a run and read their metadata from DataHub."""

from datahub_hyperjoin.catalog.column_properties import read_column_properties
from datahub_hyperjoin.catalog.config import CatalogConfig, ConnectionConfig
from datahub_hyperjoin.catalog.contexts import read_contexts
from datahub_hyperjoin.catalog.database_keys import read_database_keys
from datahub_hyperjoin.catalog.databases import scan_database
from datahub_hyperjoin.catalog.datasets import PlatformInstance
from datahub_hyperjoin.catalog.embeds import read_embeds
from datahub_hyperjoin.catalog.filed_decisions import warn_of_unknown_columns
from datahub_hyperjoin.catalog.folder import check_folder, scan_folder
from datahub_hyperjoin.catalog.history import History
from datahub_hyperjoin.catalog.known_tables import FolderNames
from datahub_hyperjoin.catalog.lineage import read_upstreams
from datahub_hyperjoin.catalog.published_entities import PublishedEntities, read_published_entities
from datahub_hyperjoin.catalog.read import Catalog, read_catalog
from datahub_hyperjoin.catalog.remote import scan_remote_folder
from datahub_hyperjoin.catalog.scope import Scope
from datahub_hyperjoin.catalog.spark_catalogs import scan_spark_catalog
from datahub_hyperjoin.catalog.stored import scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog.without_server import build_catalog_without_server

__all__ = [
    "Catalog",
    "CatalogConfig",
    "ConnectionConfig",
    "FolderNames",
    "History",
    "PlatformInstance",
    "PublishedEntities",
    "Scope",
    "TableSelection",
    "build_catalog_without_server",
    "check_folder",
    "read_catalog",
    "read_column_properties",
    "read_contexts",
    "read_database_keys",
    "read_embeds",
    "read_published_entities",
    "read_upstreams",
    "scan_database",
    "scan_folder",
    "scan_remote_folder",
    "scan_spark_catalog",
    "scan_stored_folder",
    "warn_of_unknown_columns",
]
