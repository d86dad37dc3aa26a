"""List the tables of a run and read their metadata from DataHub."""
