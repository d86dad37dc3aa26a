"""Count the values of columns batch by batch, many columns at once."""
