"""SWE-ReX's server over a computer: what the `swe-rex` package's RemoteRuntime calls."""

from tars_jax.sandbox.compat.swe_rex.app import swe_rex_app

__all__ = ["swe_rex_app"]
