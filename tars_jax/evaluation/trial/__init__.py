"""An environment is tried before anything is trained on it: one episode to read, and what is to be said of it."""

from tars_jax.evaluation.trial.examine import Trial, TrialLimits, try_environment
from tars_jax.evaluation.trial.findings import LOOK, OK, WRONG, Finding
from tars_jax.evaluation.trial.trial_episode import Subject, TrialEpisode
from tars_jax.evaluation.trial.trial_report import render_trial, transcript

__all__ = [
    "LOOK",
    "OK",
    "WRONG",
    "Finding",
    "Subject",
    "Trial",
    "TrialEpisode",
    "TrialLimits",
    "render_trial",
    "transcript",
    "try_environment",
]
