"""The policy server: an engine over HTTP, as OpenAI's API has it, and the few things that RL needs."""

from tars_jax.inference.server.app import make_app
from tars_jax.inference.server.config import Served, ServerConfig
from tars_jax.inference.server.running import serve, serving

__all__ = ["Served", "ServerConfig", "make_app", "serve", "serving"]
