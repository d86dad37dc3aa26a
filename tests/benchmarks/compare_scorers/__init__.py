"""Compare scorers of candidate pairs: noisy-or, trees, a logistic model and the pair network."""
