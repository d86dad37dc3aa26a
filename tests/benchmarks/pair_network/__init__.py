"""Train the pair network, on the school of labelled lakes."""
