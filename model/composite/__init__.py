"""Searches references of several columns, and decides which of them hold."""
