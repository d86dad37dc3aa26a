"""Train the trees that correct pair scores; they learn from the lakes of `benchmarks.school`."""
