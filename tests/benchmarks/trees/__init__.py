"""Train the trees that correct pair scores, on the school of labelled lakes."""
