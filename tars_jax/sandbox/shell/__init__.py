"""Shells of a computer: sessions of bash that live from call to call."""

from tars_jax.sandbox.shell.shell import RESTARTED, Result, Shell, ShellBusy

__all__ = ["RESTARTED", "Result", "Shell", "ShellBusy"]
