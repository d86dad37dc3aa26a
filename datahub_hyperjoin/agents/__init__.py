"""Answer agents about joins, through the Model Context Protocol."""
