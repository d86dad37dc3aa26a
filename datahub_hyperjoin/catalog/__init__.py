"""What there is to search: the tables of a folder, and what DataHub knows of them."""

from datahub_hyperjoin.catalog.folder import scan_folder
from datahub_hyperjoin.catalog.highlights import Highlights, read_highlights
from datahub_hyperjoin.catalog.read import Catalog, History, Scope, read_catalog
from datahub_hyperjoin.catalog.upstreams import read_upstreams

__all__ = [
    "Catalog",
    "Highlights",
    "History",
    "Scope",
    "read_catalog",
    "read_highlights",
    "read_upstreams",
    "scan_folder",
]
