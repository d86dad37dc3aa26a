"""List and read database tables."""
