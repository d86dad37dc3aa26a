"""Files as streams of Arrow batches: a reader for each format."""
