"""What there is to search: tables wherever they are, and what DataHub knows of them."""

from datahub_hyperjoin.catalog.config import CatalogConfig, ConnectionConfig
from datahub_hyperjoin.catalog.databases import scan_database
from datahub_hyperjoin.catalog.datasets import PlatformInstance
from datahub_hyperjoin.catalog.folder import scan_folder
from datahub_hyperjoin.catalog.highlights import Highlights, read_highlights
from datahub_hyperjoin.catalog.read import Catalog, History, Scope, read_catalog
from datahub_hyperjoin.catalog.relationships import Warn
from datahub_hyperjoin.catalog.remote import scan_remote_folder
from datahub_hyperjoin.catalog.spark_catalogs import scan_spark_catalog
from datahub_hyperjoin.catalog.upstreams import read_upstreams

__all__ = [
    "Catalog",
    "CatalogConfig",
    "ConnectionConfig",
    "Highlights",
    "History",
    "PlatformInstance",
    "Scope",
    "Warn",
    "read_catalog",
    "read_highlights",
    "read_upstreams",
    "scan_database",
    "scan_folder",
    "scan_remote_folder",
    "scan_spark_catalog",
]
