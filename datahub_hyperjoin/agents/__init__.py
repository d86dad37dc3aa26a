"""Answer AI agents' questions about joins, through the Model Context Protocol."""
