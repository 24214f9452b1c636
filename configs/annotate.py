"""People decide on the policy's own path, step by step, on a page: supervised fine-tuning data that is on policy.

Command:  ./launch/local.sh annotate [--config.checkpoint=RUN/policy] [--config.environment=NAME]

Without a flag: small mazes, and an untrained policy that proposes what it can. The address with the owner's key is
printed when the page is ready (half a minute here). Ctrl-C ends it: finished episodes are in
RUN/annotation/trajectories, and the last line is the command that trains on them; unfinished ones go on with
--config=RUN/config.json --config.run=RUN, and whatever flags are others now: people, policy, gate. What is recorded,
where it lies and how it is deleted: docs/annotation_interactive.md.
"""

import dataclasses

from ml_collections import ConfigDict

from configs.evaluate import contestants
from tars_jax.agent.pattern import THOUGHTS
from tars_jax.annotation.interactive.gate import AskingGate
from tars_jax.pipelines.command_fields import ListenerFields, PlayerFields
from tars_jax.pipelines.learning_sections import EpisodeSection
from tars_jax.pipelines.run_sections import BrowserSection, ContestantSection
from tars_jax.pipelines.schema import OPEN, Section, section
from tars_jax.rules import at_least, field, field_of, more_than, one_of


@dataclasses.dataclass(frozen=True)
class Proposals(PlayerFields):
    """What is annotated, and who proposes."""

    checkpoint: str = field(
        "",
        "who proposes: a folder of exported weights or a run that has some, whose newer ones are taken "
        "while people work; "
        "the address of our server or of an OpenAI-compatible endpoint; reference, person or random; "
        "none: nobody; empty: "
        "an untrained nano model",
    )
    candidates: int = field(
        3, "answers that it proposes at each step; those that are alike are shown once", at_least(1)
    )
    answer_seconds: float = field_of(PlayerFields, "answer_seconds", default=60.0, about="for all of a step")
    environment: str = field("maze_path_of_light", "as `train` takes it; mazes of 2 to 4 moves are there to see it")
    environment_options: str = field('{"distance": [2, 4]}', "its options as JSON")
    num_tasks: int = field(24, "how many there are to annotate", at_least(1))


@dataclasses.dataclass(frozen=True)
class Annotate(ListenerFields, Proposals):
    """What is annotated, who proposes, and who decides."""

    failures: tuple[str, ...] = field(
        (), "folders of the policy's episodes (RUN/trajectories/STAGE): tasks that failed come first"
    )
    annotators: tuple[str, ...] = field(
        (), "besides the owner: NAME or NAME:ROLE, of annotator, reviewer, owner; each has a key"
    )
    lease_seconds: float = field(900.0, "of a task of which nothing is heard", more_than(0))


@dataclasses.dataclass(frozen=True)
class Gate(AskingGate):
    """When a person decides."""

    value: float = field_of(AskingGate, "value", default=0.0)
    value_checkpoint: str = field("", "the value model's weights; empty: RUN/value beside the policy's")
    minutes: float = field(0.0, "of each person's time; after that the gate asks nobody; 0: no end", at_least(0))


@dataclasses.dataclass(frozen=True)
class ProposingAgent(ContestantSection):
    """What the agent reads and writes, where no run of a checkpoint and no server of ours says it."""

    max_observation_tokens: int = field_of(ContestantSection, "max_observation_tokens", default=256)
    constrained: bool = field(True, "an own model samples calls of the environment and nothing else")
    thought: str = field("optional", "with constrained: optional, required or never", one_of(*THOUGHTS))
    list_actions: bool = field(False, "the prompt says what can be called")


@dataclasses.dataclass(frozen=True)
class SessionBrowsers(BrowserSection):
    """The browsers of all sessions."""

    browsers: int = field_of(BrowserSection, "browsers", default=2)
    pages: int = field_of(
        BrowserSection, "pages", about="of all sessions; undoing a step takes a second one for a moment"
    )


def sections(gate: Section) -> dict[str, Section]:
    """Of an experiment in which somebody decides on a policy's path."""
    return {
        **contestants(),
        "agent": section(ProposingAgent),
        "browser": section(SessionBrowsers),
        "task": section(EpisodeSection, max_steps=OPEN),
        "gate": gate,
    }


def get_config() -> ConfigDict:
    return section(Annotate, **sections(section(Gate, value=OPEN)))
