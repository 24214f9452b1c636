"""Interactive annotation without people: a reference player of a given skill decides, until a budget is spent.

Commands:
  ./launch/local.sh annotate_simulated --config.checkpoint=RUN/policy --config.environment=NAME
  ./launch/flywheel_annotated.sh     # two cycles of a flywheel with annotation beside two without, a table and a figure

Expected result: RUN/trajectories, which a flywheel takes in by --config.annotation.datasets, and RUN/result.json: human
steps, how many of them were corrections, and how often the policy handed over. Seconds beyond the opening of the
policy. What came of the second command: docs/annotation_proof.md.
"""

import ml_collections

from configs import annotate


def get_config() -> ml_collections.ConfigDict:
    config = annotate.get_config()
    for field in ("annotators", "lease_seconds", "host", "port", "failures"):
        del config[field]
    del config.gate.mode, config.gate.minutes
    config.environment, config.environment_options = "corridor", "{}"
    # corrections: decides every step, and accepts what it would do itself; gated: only where the gate asks;
    # demonstrations: the same player writes every step itself, whatever is proposed.
    config.kind = "corrections"
    config.candidates = 1
    config.skill = 0.95  # else any legal move
    config.human_steps = 64
    config.first_task = 0  # of those to train on: annotations of different cycles have different tasks
    config.num_tasks = 256  # at most
    return config
