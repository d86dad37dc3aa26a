"""HIN, the hypergraph network: from profiles to embeddings, candidates and rankings."""
