"""Compare scorers of candidate pairs: noisy-or, trees, the pair network and its inputs."""
