"""Attacks on whole runs and on everything that a run reads; `make test-faults` carries them out."""
