"""Value pretraining: a value model of the policy that `config.model.preset` names, from its own episodes.

It ends when on held-out episodes neither the value loss nor the explained variance gets better, and keeps the best
(VC-PPO, arXiv 2503.01491; VAPO, arXiv 2504.05118). RUN/value is what `reinforcement` takes.
"""

from __future__ import annotations

import json
from typing import Any

from experiments.config import one_of
from experiments.job_config import JOB_RULES
from experiments.lab import Lab
from experiments.stage_job import WEIGHTS, rules_of, work_of
from experiments.stages import pretrain
from tars_jax.training.run_directory import RunDirectory, write_json

PROCESSES = "many"
RULES = rules_of("value") | {
    "model.preset": WEIGHTS,
    "ppo.advantages": one_of("gae", "turn"),
    "ppo.gamma": JOB_RULES["ppo.gamma"],
}


def run(config: Any, run_directory: RunDirectory) -> None:
    with Lab(config, run_directory) as lab:
        assert lab.parent is not None  # RULES
        pretrain(lab, work_of(config), lab.parent)
        result = {**(run_directory.finished("value") or {}), "seed": config.seed}
        if run_directory.leads:
            write_json(lab.path / "result.json", result)
        print(json.dumps(result))
        print(f"weights: {lab.path / 'value'}")
