"""What two columns say of each other: values, cells, names, and what the catalog knows."""
