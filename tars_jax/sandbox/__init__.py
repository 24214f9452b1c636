"""Sandboxes that an agent acts in. Nothing here imports jax: a sandbox node does not install it."""
