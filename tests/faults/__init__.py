"""Attack whole runs, and everything that a run reads: `make test-faults`."""
