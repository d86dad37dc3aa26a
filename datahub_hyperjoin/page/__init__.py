"""Write the suggested joins as one HTML page."""

from datahub_hyperjoin.page.write import write_page

__all__ = ["write_page"]
