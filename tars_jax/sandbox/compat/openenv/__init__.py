"""OpenEnv's environment server over episodes of ours: what `openenv validate --url` and its clients call."""

from tars_jax.sandbox.compat.openenv.app import openenv_app
from tars_jax.sandbox.compat.openenv.episodes import Description, EpisodeTurn, InvalidAction, OpenEnvEpisode

__all__ = ["Description", "EpisodeTurn", "InvalidAction", "OpenEnvEpisode", "openenv_app"]
