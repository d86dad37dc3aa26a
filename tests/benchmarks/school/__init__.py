"""Make the labelled lakes on which models are trained, from public sources.

`python -m benchmarks.school OUT_DIR` makes them. `sources.csv` lists the sources with their commits
and licences; none of them, and nothing of their publishers, judges a method in a benchmark.
"""
