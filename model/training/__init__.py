"""Train the network without labels (paper, section 4.2)."""
