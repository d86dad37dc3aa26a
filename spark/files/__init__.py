"""Read files as streams of Arrow batches, with one reader per format."""
