"""Each switch of the learner alone, against the default: five seeds of one game on the device, matched budgets.

Command:  ./launch/local.sh ablations      # three quarters of an hour on two busy cores

What came of it stands in docs/rl.md, beside what came of another rate, the one that the scoreboard's search
prefers. All were run at it, too, some switches at a time:

    ./launch/local.sh ablations --config.agent.ppo.learning_rate=2.5e-4 \\
        "--config.switches=ppo.router_aux_loss_weight=0.0,ppo.lag=4"
"""

import dataclasses

from ml_collections import ConfigDict

from configs import scoreboard
from tars_jax.pipelines.schema import section
from tars_jax.rules import field

SWITCHES = (
    "ppo.advantages=turn",
    "ppo.advantages=group ppo.group_size=8",
    "ppo.advantages=group ppo.group_size=8 ppo.group_std=False",
    "ppo.advantages=group ppo.group_size=8 ppo.dynamic_sampling=True",
    "ppo.normalize_advantages=False",
    "ppo.gamma=0.98",
    "ppo.alpha=0.05",
    "ppo.alpha=0.5",
    "ppo.length_adaptive=False ppo.lambda_policy=0.95",
    "ppo.length_adaptive=False ppo.lambda_policy=1.0",
    "ppo.lambda_critic=0.95",
    "ppo.aggregation=sequence",
    "ppo.clip_high=0.2",
    "ppo.dual_clip=3.0",
    "ppo.value_clip=0.2",
    "ppo.kl_weight=0.05",
    "ppo.positive_weight=0.1",
    "ppo.entropy_bonus=0.01",
    "reward.length_penalty=0.1",
    "reward.early_penalty=0.1",
    "reward.endless_penalty=0.1",
    "reward.fewer_steps_reward=0.1",
    "ppo.router_aux_loss_weight=0.0",
    "ppo.lag=4",
    "ppo.lag=4 ppo.max_importance=1000.0",
    "ppo.lag=4 ppo.decoupled=False",
    "recipe=report",
)


@dataclasses.dataclass(frozen=True)
class Ablations(scoreboard.Seeds):
    """The game of the ablations, and the switches that are changed one at a time."""

    game: str = field("checklist", "game that is learned, one of `games`")
    switches: tuple[str, ...] = field(
        SWITCHES,
        "ablations, each against the default: field=value, several joined by a space; or recipe=NAME for "
        "all fields of a recipe",
    )


def get_config() -> ConfigDict:
    return section(Ablations, **scoreboard.agents())
