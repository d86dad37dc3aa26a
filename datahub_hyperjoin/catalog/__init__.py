"""What there is to search: the tables of a folder, and what DataHub knows of them."""

from datahub_hyperjoin.catalog.folder import scan_folder

__all__ = ["scan_folder"]
