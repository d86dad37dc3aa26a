"""The web service in which people see, accept and reject the catalog's joins."""
