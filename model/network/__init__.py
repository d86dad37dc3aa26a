"""HIN, the hypergraph network: features, encoders, layers and attention (paper, section 4.2)."""
