"""How the command is called: in a checkout by its script, from a wheel by the name that pip gave it."""

from __future__ import annotations

import pathlib

SHIPPED = pathlib.Path(__file__).resolve().parent / "checkout"  # what a wheel has of the checkout
INSTALLED = SHIPPED.is_dir()
LAUNCHER = "tars-jax" if INSTALLED else "./launch/local.sh"  # as a command that a user may type
