"""Interactive annotation without people: a reference player of a given skill decides, until a budget is spent.

Commands:
  ./launch/local.sh annotate_simulated --config.checkpoint=RUN/policy --config.environment=NAME
  ./launch/flywheel_annotated.sh     # two cycles of a flywheel with annotation beside two without, a table and a figure

Expected result: RUN/trajectories, which a flywheel takes in by --config.annotation.datasets, and RUN/result.json: human
steps, how many of them were corrections, and how often the policy handed over. Seconds beyond the opening of the
policy. What came of the second command: docs/annotation_proof.md.
"""

import dataclasses

from ml_collections import ConfigDict

from configs.annotate import Gate, Proposals, sections
from tars_jax.pipelines.schema import OPEN, section
from tars_jax.rules import at_least, between, field, field_of, one_of


@dataclasses.dataclass(frozen=True)
class Simulated(Proposals):
    """The tasks to annotate, the policy that proposes, and the reference player that decides."""

    environment: str = field_of(
        Proposals, "environment", default="corridor", about="environment of the tasks, as `train` takes it"
    )
    environment_options: str = field_of(Proposals, "environment_options", default="{}")
    candidates: int = field_of(Proposals, "candidates", default=1)
    num_tasks: int = field_of(Proposals, "num_tasks", default=256, about="most tasks that are annotated")
    first_task: int = field(
        0, "number of the first training task: different cycles annotate different tasks", at_least(0)
    )
    kind: str = field(
        "corrections",
        "what the player decides: corrections, every step, where it accepts what it would do itself; gated, "
        "steps at which the gate asks; demonstrations, every step, whatever is proposed",
        one_of("corrections", "gated", "demonstrations"),
    )
    skill: float = field(
        0.95, "share of the player's moves that follow its plan; the others are any legal moves", between(0, 1)
    )
    human_steps: int = field(64, "steps decided by the player after which annotation ends", at_least(1))


def get_config() -> ConfigDict:
    return section(Simulated, **sections(section(Gate, without=("mode", "minutes"), value=OPEN)))
