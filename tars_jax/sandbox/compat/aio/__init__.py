"""AIO Sandbox's API over a computer: what the `agent-sandbox` package's clients call."""

from tars_jax.sandbox.compat.aio.app import aio_app

__all__ = ["aio_app"]
