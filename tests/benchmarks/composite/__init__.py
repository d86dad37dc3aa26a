"""Lakes whose schemas declare keys of several columns."""
