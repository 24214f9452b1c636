"""The policy server: an engine over HTTP, as OpenAI's API has it, and the few things that RL needs."""

from tars_jax.inference.server.app import make_app, serve, serving
from tars_jax.inference.server.config import Served, ServerConfig

__all__ = ["Served", "ServerConfig", "make_app", "serve", "serving"]
