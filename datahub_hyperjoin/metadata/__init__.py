"""How DataHub's metadata describes joins: URNs, relationships, tags and their contexts."""
