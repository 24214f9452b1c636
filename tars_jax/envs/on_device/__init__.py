"""Games as pure JAX functions, drawn to pixels, acted on by GUI actions: for rollouts that are part of a program."""

from tars_jax.envs.on_device.catalog import GAMES, make_game
from tars_jax.envs.on_device.game import DeviceCall, DeviceGame, ExpertPlan

__all__ = ["GAMES", "DeviceCall", "DeviceGame", "ExpertPlan", "make_game"]
