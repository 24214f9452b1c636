"""What the stages of a chain share. Not an experiment: each stage's config begins with it.

The tasks are mazes by distance, as in the quickstart, or, with `games`, several games at `levels`.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.data import VERDICTS
from tars_jax.model.execution import Execution
from tars_jax.pipelines.command_fields import LevelFields
from tars_jax.pipelines.game_names import TRAINED_ON, can_be_trained_on
from tars_jax.pipelines.learning_sections import (
    BroughtDemonstrationsSection,
    MazeDemonstrationsSection,
    MazeTaskSection,
    ReinforcedFields,
    SupervisedSection,
)
from tars_jax.pipelines.run_sections import JobFields, LearnedEngineSection, PackingSection, StageModelSection, of_runs
from tars_jax.pipelines.schema import Section, section
from tars_jax.rules import Rule, at_least, between, each, field, field_of, one_of


@dataclasses.dataclass(frozen=True)
class Stage(JobFields):
    """A stage of a chain of experiments."""

    games: tuple[str, ...] = field(
        (),
        "games that the stage trains on; (): mazes of task.evaluation_distances",
        Rule(can_be_trained_on, f"nothing, or {TRAINED_ON}"),
    )
    levels: tuple[int, ...] = field_of(LevelFields, "levels", about="levels of `games`")


@dataclasses.dataclass(frozen=True)
class ReinforcedStage(Stage, ReinforcedFields):
    """A stage of a chain of experiments that ends with PPO."""


@dataclasses.dataclass(frozen=True)
class SeveralDemonstrations:
    """Demonstrations that the policy imitates."""

    episodes: int = field(600, "episodes that reference players demonstrate", at_least(0))
    distances: tuple[int, ...] = field_of(MazeDemonstrationsSection, "distances", default=(1, 4))
    skills: tuple[float, ...] = field(
        (0.5,),
        "skills of the reference players, each of which plays an equal share of the episodes",
        each(between(0, 1)),
    )
    verdict: str = field(
        "any", "verdict of the episodes that are imitated: any, solved (V = 1) or failed (V = 0)", one_of(*VERDICTS)
    )
    datasets: tuple[str, ...] = field_of(BroughtDemonstrationsSection, "datasets")


@dataclasses.dataclass(frozen=True)
class Imitation(SupervisedSection):
    """Fitting the policy to the demonstrations."""

    loss_on: str = field(
        "agent",
        "tokens of the loss: agent, those that the agent wrote; or text, all that it read or wrote",
        one_of("agent", "text"),
    )


def get_config(made_of: type[Stage] = Stage, **sections: Section) -> ConfigDict:
    """As many tokens and screenshots as the windows of the tasks take: 48, one, 48 and 24 of mazes."""
    usual = {
        "packing": section(PackingSection, row_length=0, images_per_row=0),
        "engine": section(LearnedEngineSection, max_length=0, max_new_tokens=0),
        "task": section(MazeTaskSection, evaluation_distances=(1, 4), evaluation_episodes=100),
    }
    return section(made_of, **of_runs(**usual, **sections))


def farther(made_of: type[Stage] = Stage, **sections: Section) -> ConfigDict:
    """For stages that a policy goes through after its demonstrations: mazes beyond these, where it has to learn."""
    config = get_config(made_of, model=section(StageModelSection, execution=section(Execution)), **sections)
    config.task.evaluation_distances = (3, 6)
    config.task.max_steps = 8
    return config


def imitation(episodes: int) -> ConfigDict:
    """What CT and SFT share, before they differ."""
    return get_config(demonstrations=section(SeveralDemonstrations, episodes=episodes), supervised=section(Imitation))
