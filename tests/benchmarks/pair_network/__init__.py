"""Train the pair network on the labelled lakes of `benchmarks.school`."""
