"""What columns hold: counted batch by batch, many columns at once."""
