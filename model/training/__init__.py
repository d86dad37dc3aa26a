"""Fits HIN without labels: two augmented views of the same tables (paper, section 4.2)."""
