"""Answer the questions of AI agents about joins, through the Model Context Protocol."""
