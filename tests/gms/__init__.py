"""A double of DataHub's metadata service: real HTTP, aspects that it keeps and answers from."""

from gms.double import Gms
from gms.ingest import Rejection, Write
from gms.server import Request

__all__ = ["Gms", "Rejection", "Request", "Write"]
