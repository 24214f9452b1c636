"""The policy server: an engine over HTTP, as OpenAI's API has it, and the few things that RL needs."""

from tars_jax.inference.config import ServerConfig
from tars_jax.inference.server.app import make_app, serve, serving
from tars_jax.inference.server.served import Served

__all__ = ["Served", "ServerConfig", "make_app", "serve", "serving"]
