"""A browser, and pages to open in it."""
