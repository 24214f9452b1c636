"""An environment is tried before anything is trained on it: one episode to read, and what is to be said of it."""

from tars_jax.evaluation.trial.examine import Limits, Trial, try_environment
from tars_jax.evaluation.trial.findings import LOOK, OK, WRONG, Finding
from tars_jax.evaluation.trial.page import render_trial
from tars_jax.evaluation.trial.played import Played, Subject
from tars_jax.evaluation.trial.transcript import transcript

__all__ = [
    "LOOK",
    "OK",
    "WRONG",
    "Finding",
    "Limits",
    "Played",
    "Subject",
    "Trial",
    "render_trial",
    "transcript",
    "try_environment",
]
