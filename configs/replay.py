"""Half of a recorded run again, from a run directory or a published archive; a fraction of the run's time.

Commands:  ./launch/local.sh replay RUN --config.mode=train
           ./launch/local.sh replay RUN --config.mode=rollout

Expected result: `train` says for every update that its weights are the recorded ones, bit for bit, or where the first
difference is (exit code 1); `rollout` says how many episodes are identical, token by token.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.run_sections import SandboxSection
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, field, one_of


@dataclasses.dataclass(frozen=True)
class Replay(RunFields):
    """The recorded run, and which half of it is run again."""

    source: str = field(
        "", "run directory or published archive", Rule(bool, "a run directory or an archive that `publish` made")
    )
    mode: str = field(
        "train",
        "half that is run again: train, the learner from recorded episodes; rollout, engine and browser "
        "from recorded weights",
        one_of("train", "rollout"),
    )
    updates: int = field(0, "first updates that mode train runs again; 0: all", at_least(0))
    stage: str = field(
        "after", "evaluation that mode rollout runs again: before or after PPO", one_of("before", "after")
    )
    episodes: int = field(0, "first episodes that mode rollout runs again; 0: all", at_least(0))


def get_config() -> ConfigDict:
    return section(Replay, sandbox=section(SandboxSection))
