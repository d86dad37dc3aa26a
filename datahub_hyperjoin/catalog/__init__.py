"""What there is to search: tables of folders and databases, and what DataHub knows of them."""

from datahub_hyperjoin.catalog.among import Among
from datahub_hyperjoin.catalog.databases import Selection, names_of, platform_of, scan_database
from datahub_hyperjoin.catalog.folder import scan_folder
from datahub_hyperjoin.catalog.highlights import Highlights, read_highlights
from datahub_hyperjoin.catalog.read import Catalog, History, Home, Scope, read_catalog
from datahub_hyperjoin.catalog.relationships import Warn
from datahub_hyperjoin.catalog.upstreams import read_upstreams

__all__ = [
    "Among",
    "Catalog",
    "Highlights",
    "History",
    "Home",
    "Scope",
    "Selection",
    "Warn",
    "names_of",
    "platform_of",
    "read_catalog",
    "read_highlights",
    "read_upstreams",
    "scan_database",
    "scan_folder",
]
