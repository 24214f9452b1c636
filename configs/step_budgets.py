"""Score against step budget, each budget played anew, by several contestants (UI-TARS-2, figure 11).

Commands:
  ./launch/local.sh step_budgets --config.contestants=RUN/policy,reference,person,random
  ./launch/local.sh step_budgets --config.suite=environment --config.environment=computer
      --config.environment_options='{"level": 2}' --config.budgets=1,2,3,4,6
      --config.contestants=RUN/policy,reference,random
"""

import dataclasses

from ml_collections import ConfigDict

from configs.evaluate import contestants
from tars_jax.pipelines.command_fields import LevelFields, PlayerFields
from tars_jax.pipelines.schema import section
from tars_jax.rules import Rule, at_least, field, one_of
from tars_jax.tasks.library import SUITES


@dataclasses.dataclass(frozen=True)
class StepBudgets(LevelFields, PlayerFields):
    """The suite, the step budgets, and the contestants."""

    suite: str = field(
        "games15",
        "suite to play: games15, miniwob or lmgame; or environment, for config.environment",
        one_of(*SUITES, "environment"),
    )
    names: tuple[str, ...] = field((), "tasks of the suite to play; (): all")
    environment: str = field("computer", "environment to play, as `train` takes it, with suite environment")
    environment_options: str = field("{}", "options of the environment as JSON; a list holds several kinds of tasks")
    budgets: tuple[int, ...] = field(
        (10, 25, 50, 100),
        "step budgets of an episode",
        Rule(
            lambda steps: len(steps) > 0 and min(steps) > 0 and len(set(steps)) == len(steps),
            "different whole numbers of 1 or more, separated by commas",
        ),
    )
    contestants: tuple[str, ...] = field(
        ("reference", "person", "random"),
        'policies that play: folders of exported weights, addresses, "reference", "person" (only games), "random"',
        Rule(
            lambda given: len(given) > 0 and len(set(given)) == len(given),
            "different ones, as config.checkpoint of evaluate takes them, separated by commas",
        ),
    )
    called: tuple[str, ...] = field((), "names of the contestants in the figure; (): the last part of each")
    episodes: int = field(0, "episodes of each game or kind of task; 0: LMGame-Bench's 3 runs, else 6", at_least(0))


def get_config() -> ConfigDict:
    return section(StepBudgets, **contestants())
