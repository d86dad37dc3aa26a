"""Count the values of many columns together, batch by batch."""
