"""A trained nano policy in int4 weights and int8 activations: size, error by layer, and score against floating point.

Command:  ./launch/local.sh quantise --config.checkpoint=RUN/policy

Needs the extra "quantisation" (qwix); minutes on two cores, most of it the episodes. With
--config.task.evaluation_episodes=200 on the policy of the quickstart's seed 0: 71.5% in floating point, 68.0% in W4A8,
-3.5 points [-8.0, 1.0]; the default number of episodes was not run.

Measured on a quickstart's policy that solves 71% of its held-out levels, over the sampled tokens of 64 rows:

| quantised | KL, nats a token | same best token | with int4 weights alone |
|-----------|------------------|-----------------|-------------------------|
| all but the router | .0213   | 98.1%           | .0219                   |
| attention | .0155            | 98.3%           | .0153                   |
| experts   | .0029            | 99.5%           | .0029                   |
| vision    | .0039            | 99.4%           | .0039                   |
| head      | .0004            | 99.9%           | .0004                   |
| router (weights alone) |     |                 | .0011                   |

So the error is that of the weights, int8 activations add nothing that is seen, and attention makes most of it. The
vision encoder need not be kept; the router is kept, as its 1,536 numbers are nothing to save.
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = ml_collections.ConfigDict()
    config.checkpoint = ""  # the folder of exported weights
    config.output = ""  # "" for w4a8 in the run directory
    config.kept = ("/router$",)  # paths of parameters that stay in floating point
    config.seed = 0
    config.run = ""  # run directory; empty: a new one under runs/
    for section in ("model", "mesh", "task", "agent", "browser", "packing", "engine", "reward"):
        config[section] = base[section]
    config.task.evaluation_episodes = 1000  # paired, they bound the loss to about 3 points
    config.rows = 256  # for the error: windows of the float policy's own episodes
    return config
