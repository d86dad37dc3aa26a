"""Models on disk: what they were made from, and when one is used again."""
