"""Interpolation beside hybrid training, at equal cost in episodes: two ways to one agent for all parts of a mixture.

1. start: a policy from the demonstrations of all parts, where these have reference players;
2. a specialist of each part: the start, trained on by PPO on that part alone, `ppo.updates` updates;
3. merges of the specialists (equation 5 of the UI-TARS-2 report, section 2.6);
4. by choice the hybrid: the start, trained on by PPO on batches that hold all parts by their weights, for as many
   updates of as many episodes as all specialists together;
5. each of them on the same held-out tasks of every part, and on tasks that need several; then result.json.

Every stage goes on where a killed run stopped.
"""

from __future__ import annotations

from typing import Any

from tars_jax.pipelines.interpolation import compare_with_hybrid
from tars_jax.pipelines.job_checks import check
from tars_jax.training.run_directory import RunDirectory


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    compare_with_hybrid(config, run_directory)
