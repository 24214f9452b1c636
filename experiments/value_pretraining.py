"""Value pretraining: a value model of the policy that `config.model.preset` names, from its own episodes.

It ends when on held-out episodes neither the value loss nor the explained variance gets better, and keeps the best
(VC-PPO, arXiv 2503.01491; VAPO, arXiv 2504.05118). RUN/value is what `reinforcement` takes.
"""

from __future__ import annotations

import json
from typing import Any

from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.single_stage import work_of
from tars_jax.pipelines.value_stage import pretrain
from tars_jax.training.run_directory import RunDirectory, write_json

PROCESSES = "many"


def run(config: Any, run_directory: RunDirectory) -> None:
    with RunContext(config, run_directory) as context:
        assert context.parent is not None  # the rule of model.preset
        pretrain(context, work_of(config), context.parent)
        result = {**(run_directory.finished("value") or {}), "seed": config.seed}
        if run_directory.is_main_process:
            write_json(context.path / "result.json", result)
        print(json.dumps(result))
        print(f"weights: {context.path / 'value'}")
