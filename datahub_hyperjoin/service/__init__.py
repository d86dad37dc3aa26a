"""The web service that shows joins of the catalog, and lets people accept and reject them."""
