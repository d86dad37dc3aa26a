"""Saved models: files, fingerprints, and the progress of interrupted training runs."""
