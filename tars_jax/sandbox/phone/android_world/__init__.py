"""AndroidWorld's actions and its HTTP server's routes, over a phone of ours, real or stand-in."""

from tars_jax.sandbox.phone.android_world.actions import AndroidWorldAction, perform, read_action
from tars_jax.sandbox.phone.android_world.server import PhoneTask, PreparedPhone, Suite, make_app

__all__ = ["AndroidWorldAction", "PhoneTask", "PreparedPhone", "Suite", "make_app", "perform", "read_action"]
