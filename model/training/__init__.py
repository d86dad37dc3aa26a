"""Train the network without labels, on two augmented views of the tables (paper, section 4.2)."""
