"""Public lakes that a person read: the joins expected of them, and those that a run lists."""
