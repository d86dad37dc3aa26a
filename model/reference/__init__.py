"""What has codes and names that everyone uses, and which columns hold them."""
