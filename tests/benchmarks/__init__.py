"""Benchmarks of this project: speed of its parts, and its rankings beside other methods."""
