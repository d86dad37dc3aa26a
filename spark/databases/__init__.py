"""Databases: opened gently, listed, and read whole or in ranges of a key."""
