"""A reward model of maze trajectories, from a policy that plays mazes and from what it has played.

Command:  ./launch/local.sh reward_model --config.model.preset=RUN/policy --config.trajectories=RUN/trajectories/ppo

Seed 0, on a machine busy with other work, from the policy and the 768 episodes of a `reinforcement` and the 480
attempts of a `rejection_sampling`, both on mazes of 1 to 4 moves (with --config.packing.row_length=208
--config.engine.max_length=208). On 309 trajectories of levels held out, with the likeliest verdicts:

| judge                             | accuracy | precision | recall | F1   |
|-----------------------------------|----------|-----------|--------|------|
| always "solved"                   | 84.8%    | .848      | 1.000  | .918 |
| supervised, 200 verdicts          | 93.2%    | .996      | .924   | .958 |
| and 20 updates of single-turn RL  | 95.1%    | 1.000     | .943   | .971 |

RL adds 1.9 points [-2, 6], which 309 trajectories cannot tell from chance; balancing left it 104 trajectories beside
the annotated ones. On those its sampled verdicts went from 88% to 91 to 94% right. Unlike the report's, this judge errs
by missing successes.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.inference.config import EngineConfig
from tars_jax.model.execution import Execution
from tars_jax.pipelines.learning_sections import PPOSection, SupervisedSection
from tars_jax.pipelines.run_sections import (
    JobFields,
    LearnedEngineSection,
    PackingSection,
    StageModelSection,
    of_runs,
    rewards,
)
from tars_jax.pipelines.schema import section
from tars_jax.rules import Rule, at_least, between, field, field_of, one_of


@dataclasses.dataclass(frozen=True)
class RewardModel(JobFields):
    """A generative outcome reward model: its data."""

    trajectories: tuple[str, ...] = field(
        (),
        "folders of trajectories of earlier runs",
        Rule(lambda folders: len(folders) > 0, "one or more folders, such as RUN/trajectories/ppo"),
    )
    screenshots: int = field(
        5, "last screenshots of an episode that the reward model sees, as in the report", at_least(1)
    )
    held_out: float = field(0.25, "share of levels held out for evaluation", between(0.05, 0.9))


@dataclasses.dataclass(frozen=True)
class QuestionRows(PackingSection):
    """Packed rows of the learner, whose size depends on the trajectories."""

    row_length: int = field(
        272, "tokens of a packed row: 272 hold eight steps of a maze, five screenshots and a verdict", at_least(32)
    )
    images_per_row: int = field_of(
        PackingSection, "images_per_row", default=5, about="screenshots of a packed row", rule=at_least(1)
    )


@dataclasses.dataclass(frozen=True)
class Verdicts(LearnedEngineSection):
    """The inference engine that verdicts are sampled with."""

    max_length: int = field_of(EngineConfig, "max_length", default=272, rule=at_least(32))
    max_new_tokens: int = field_of(EngineConfig, "max_new_tokens", default=12, about="most tokens of a verdict")
    length_buckets: tuple[int, ...] = field_of(EngineConfig, "length_buckets", default=(144, 272))
    top_logprobs: int = field(
        20,
        '`top_logprobs` of each token of a verdict, from which the score is computed as the share of "1"',
        at_least(2),
    )


@dataclasses.dataclass(frozen=True)
class Annotated(SupervisedSection):
    """Supervised fine-tuning of the reward model on annotated verdicts."""

    verdicts: int = field(200, "annotated verdicts to fit; the others are only rewards", at_least(1))


@dataclasses.dataclass(frozen=True)
class Judged(PPOSection):
    """PPO of the verdicts, with sampling and learning in turns."""

    min_batch: int = field_of(PPOSection, "min_batch", default=128, about="sampled verdicts of an update")
    max_staleness: int = field_of(PPOSection, "max_staleness", default=0, rule=one_of(0))
    dynamic_sampling: bool = field_of(PPOSection, "dynamic_sampling", rule=one_of(False))


def get_config() -> ConfigDict:
    sections = of_runs(
        model=section(StageModelSection, execution=section(Execution)),
        packing=section(QuestionRows),
        engine=section(Verdicts),
        reward=rewards(length_penalty=0.0),  # a verdict has one length
    )
    del sections["fleet"]
    return section(
        RewardModel,
        **sections,
        annotated=section(Annotated, updates=100, batch_rows=16, learning_rate=1e-3),
        ppo=section(Judged, updates=20, minibatch_rows=32, positive_weight=0.0),
    )
