"""`python -m experiments`: what `tars-jax` is in a checkout. See tars_jax/pipelines/command.py."""

from tars_jax.pipelines.command import ROOT, command, leave, main

__all__ = ["ROOT", "leave", "main"]

if __name__ == "__main__":
    command()
