"""The web service on which people see, accept and reject the catalog's joins."""
