"""Count the values of many columns at once, batch by batch."""
