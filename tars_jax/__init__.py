"""tars_jax: a GUI agent trained by multi-turn reinforcement learning in real sandboxes."""

__version__ = "0.1.0"


class InputError(ValueError):
    """Something that the user gave cannot be used: a config field, a file, a missing program.

    The message is one sentence: "X must be ...; got Y", X being the file or field. Commands print it and
    exit with code 2.
    """


class GaveUp(InputError):
    """What a run waited for did not come, as the user has bounded it. What the run has is kept: it can be resumed."""
