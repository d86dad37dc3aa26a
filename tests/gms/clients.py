"""Skip tests that need a newer release of DataHub's client than the installed one."""

import pytest
from datahub.ingestion.graph.client import DataHubGraph

NEEDS_SCROLLING = pytest.mark.skipif(
    not hasattr(DataHubGraph, "scroll_entities"),
    reason="the client scrolls through entities from release 1.6 on",
)
"""Skips a test if the client cannot scroll through entities."""
