"""Profiles tables, and stores the profiles for later runs."""
