"""Training of HIN without labels, on two augmented views of the same tables (section 4.2)."""
