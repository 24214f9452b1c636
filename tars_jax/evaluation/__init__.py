"""Measured scores and what is said about them. See README.md."""

from tars_jax.evaluation.curves import DEFAULT_CURVES, Curve, Series, supervised_curves
from tars_jax.evaluation.report import ReportData, ScoreWording, render_report, verdict, write_report
from tars_jax.evaluation.scores import Score
from tars_jax.evaluation.statistics import (
    Estimate,
    bootstrap_difference,
    success_difference,
    wilson_interval,
)

__all__ = [
    "DEFAULT_CURVES",
    "Curve",
    "Estimate",
    "ReportData",
    "Score",
    "ScoreWording",
    "Series",
    "bootstrap_difference",
    "render_report",
    "success_difference",
    "supervised_curves",
    "verdict",
    "wilson_interval",
    "write_report",
]
