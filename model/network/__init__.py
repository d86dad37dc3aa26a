"""HIN, the hypergraph network: features, encoders, layers and attention (section 4.2)."""
