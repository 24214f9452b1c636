"""OSWorld's guest server over a desktop: what the unmodified `desktop-env` package's controllers call."""

from tars_jax.sandbox.desktop.osworld.app import osworld_app

__all__ = ["osworld_app"]
