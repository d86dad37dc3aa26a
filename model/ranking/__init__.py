"""From embeddings and signals to a coherent top-K (paper, section 5)."""
