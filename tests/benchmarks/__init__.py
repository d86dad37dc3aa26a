"""Measure the speed of this project, and compare its rankings with those of other methods."""
