"""Saved models: files, fingerprints, and the progress of an interrupted training."""
