"""An agent learns Maze: Path of Light in a real Chromium, from nothing, on two cores.

Command:  ./launch/local.sh quickstart --config.seed=SEED

Held-out success over 200 episodes of 2 to 5 moves (random levels that training never sees, at most 6 steps), before and
after PPO; the value model's explained variance of held-out returns after pretraining, and what a table over the
simulator's own distance and remaining steps explains of them. 95% intervals in brackets.

| seed | before | after | points         | value model | simulator | minutes |
|------|--------|-------|----------------|-------------|-----------|---------|
| 0    | 47.5%  | 73.0% | +25.5 [16, 34] | .18         | .36       | 33.8    |
| 1    | 38.5%  | 62.5% | +24.0 [14, 33] | .15         | .36       | 14.4    |
| 2    | 55.5%  | 75.0% | +19.5 [10, 28] | .22         | .43       | 9.6     |
| 3    | 47.0%  | 70.5% | +23.5 [14, 32] | .20         | .42       | 6.1     |
| 4    | 42.0%  | 70.5% | +28.5 [19, 37] | .18         | .39       | 5.3     |

The value model's 1,200 episodes were all played before its first update; since then they come in rounds of 600.
Demonstrators have had draws of their own since 2026-11-28; seed 0 then went from 50.5% to 73.5% (+23.0 [14, 32]) in 8.4
minutes.

Seed 4 had two cores to itself, and no compile cache: demonstrations 0:43, supervised training 0:54, both evaluations
0:19, episodes for the value model 0:42, its training 0:33, PPO 1:55. The others ran beside other work, the first three
beside much of it. The set-up takes another minute.

It was longer until 2026-11-27 (2,000 demonstrations; 300 updates of the value model on 1,600 episodes; 15 of PPO), for
gains of +33.5, +25.5 and +18.0 points of seeds 0 to 2, and of +29.0 for seed 3 in 6.4 minutes with little beside it.
Runs of one seed differ where rounding or the order of finished episodes does: seed 0 went from 43.5% to 77.0%, 46.5% to
74.0%, 74.5% and 76.5%. With 18 updates of PPO, and 400 of the value model on 2,000 episodes, from 41.0% to 73.0, 77.5
and 79.5%; with `--config.agent.constrained=True` from 41.0% to 77.0% (+36.0 [27, 44]) there, once.

What PPO changes: a demonstration follows its own plan in half of its moves and wanders in the others; in older runs
the supervised policy follows its plan in 71 to 75% of its moves, the trained one in 90 to 93%. What helped on the way
here, each seen once:

- Thoughts that name the way instead of the distance, together with Muon for supervised training: the value model
  explains .23 to .28 where it explained .14 to .18.
- Muon alone: after 600 updates the whole way of an unseen maze has a probability of .63, after 1,000 of AdamW .57.
- The loss on successful episodes (`positive_weight`) at .5 instead of .1, from one supervised start: 73.5% against
  71.0%.

What did not work: a policy learning rate of 5e-4 with small minibatches (success fell from .63 to .45 in nine updates),
value pretraining on 560 episodes (memorized), and windows of several steps from the start (the policy copies its
earlier thoughts instead of looking).
"""

from ml_collections import ConfigDict

from tars_jax.pipelines.learning_sections import (
    MazeDemonstrationsSection,
    MazeTaskSection,
    PPOSection,
    ReinforcedFields,
    SupervisedSection,
    ValueSection,
)
from tars_jax.pipelines.run_sections import of_runs
from tars_jax.pipelines.schema import section
from tars_jax.rollout.curriculum import CurriculumConfig


def get_config() -> ConfigDict:
    return section(
        ReinforcedFields,
        **of_runs(),
        task=section(MazeTaskSection),
        demonstrations=section(MazeDemonstrationsSection),
        supervised=section(SupervisedSection),
        value=section(ValueSection),
        ppo=section(PPOSection),
        curriculum=section(CurriculumConfig),
    )
