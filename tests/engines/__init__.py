"""Database servers of this machine, and what stands in for others."""
