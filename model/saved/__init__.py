"""Save and load models, and resume interrupted training runs."""
