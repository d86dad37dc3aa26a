"""Ask DataHub's own MCP server for joins, as an agent does."""
