"""The table of a policy in floating point beside W4A8, as the UI-TARS-2 report tells of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax.evaluation import published
from tars_jax.evaluation.tables import markdown


def quantization_table(result: Mapping[str, Any]) -> str:
    """Of an experiment's result: score, return, tokens a second, seconds a round, bytes; the report's figures beside
    them, which are of another policy on OSWorld and on another machine."""
    times = [result["time"][side] for side in ("float", "w4a8")]
    rows = [
        ("score, %", *(f"{100 * result[f'score_{side}']:.1f}" for side in ("float", "w4a8")), *_paper("score")),
        ("mean return", *(f"{result[f'return_{side}']:.3f}" for side in ("float", "w4a8")), "-", "-"),
        ("tokens/s", *(f"{each['tokens_per_second']:.1f}" for each in times), *_paper("tokens_per_second")),
        ("seconds a round", *(f"{each['seconds_per_round']:.3f}" for each in times), *_paper("seconds_per_round")),
        ("bytes", *(f"{result['bytes'][side]:,}" for side in ("float", "w4a8")), "-", "-"),
    ]
    about = (
        f"{result['suite']}, {result['episodes']} episodes of each side, {result['pages']} at a time, in turn on "
        f"{result['device']}.\n\n"
    )
    return about + markdown(("", "float", "W4A8", "float (paper)", "W4A8 (paper)"), rows)


def _paper(name: str) -> tuple[str, str]:
    plain, quantized = published.W4A8[name]
    return f"{plain:.1f}", f"{quantized:.1f}"
