"""What can go wrong before anything is asked of DataHub."""

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError


class MissingServerError(CatalogError, ValueError):
    """A recipe asks what only a DataHub server can tell, and names none."""

    @classmethod
    def to_choose_datasets(cls) -> Self:
        """Domains, containers and tags are the catalog's."""
        return cls(
            "`catalog.domains`, `containers` and `tags` choose datasets by what a DataHub server "
            "says of them. Give a `datahub-rest` sink, or leave them out"
        )
