"""Our computers as an environment of Harbor's own command; it runs in Harbor's Python, where jax is not."""
