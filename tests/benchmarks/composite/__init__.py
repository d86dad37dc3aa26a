"""Generated lakes whose schemas declare composite keys."""
