"""What was found, as one HTML file for people."""

from datahub_hyperjoin.page.write import write_page

__all__ = ["write_page"]
