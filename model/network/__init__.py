"""HIN, from the features of columns to their embeddings (paper, section 4.2)."""
