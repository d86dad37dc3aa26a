"""HIN, the network that embeds columns (paper, section 4.2)."""
