"""Rank joinable columns by embeddings and signals (paper, section 5)."""
