"""Run a test double of DataHub's metadata service.

It stores aspects and serves them over HTTP.
"""

from gms.double import Gms
from gms.ingest import Rejection, Write
from gms.server import Request

__all__ = ["Gms", "Rejection", "Request", "Write"]
