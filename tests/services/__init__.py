"""Servers and clusters that tests start."""
