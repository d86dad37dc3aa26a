"""Small lakes, joins and catalogs, and runs over them."""
