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
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.pipelines.command_fields import PageAddress, PlayerFields
from tars_jax.pipelines.learning_sections import EpisodeSection
from tars_jax.pipelines.run_sections import BrowserSection, CallingAgentSection, ContestantSection
from tars_jax.pipelines.schema import OPEN, Section, section
from tars_jax.rules import at_least, field, field_of, more_than


@dataclasses.dataclass(frozen=True)
class Proposals(PlayerFields):
    """The tasks to annotate, and the policy that proposes answers."""

    checkpoint: str = field(
        "",
        "policy that proposes: a folder of exported weights, or a run, whose newest weights are reloaded "
        "during the session; the address of our server or of an OpenAI-compatible endpoint; reference, "
        "person or random; none: nobody; empty: an untrained nano model",
    )
    candidates: int = field(3, "answers that the policy proposes at each step; duplicates are shown once", at_least(1))
    answer_seconds: float = field_of(
        PlayerFields, "answer_seconds", default=60.0, about="time limit of all proposals of a step together, in seconds"
    )
    environment: str = field(
        "maze_path_of_light",
        "environment of the tasks, as `train` takes it; the default, mazes of 2 to 4 moves, is a demonstration",
    )
    environment_options: str = field('{"distance": [2, 4]}', "options of the environment, as JSON")
    num_tasks: int = field(24, "number of tasks to annotate", at_least(1))


@dataclasses.dataclass(frozen=True)
class Annotate(PageAddress, Proposals):
    """The tasks to annotate, the policy that proposes, and the people who decide."""

    failures: tuple[str, ...] = field(
        (), "folders of the policy's episodes (RUN/trajectories/STAGE), whose failed tasks are annotated first"
    )
    annotators: tuple[str, ...] = field(
        (), "people besides the owner, each with a key: NAME or NAME:ROLE, the role annotator, reviewer or owner"
    )
    lease_seconds: float = field(900.0, "seconds without a request after which the lease of a task ends", more_than(0))


@dataclasses.dataclass(frozen=True)
class Gate(AskingGate):
    """When a person decides."""

    value: float = field_of(AskingGate, "value", default=0.0)
    value_checkpoint: str = field("", "weights of the value model; empty: RUN/value beside the policy's weights")
    minutes: float = field(
        0.0, "minutes of each person's time after which the gate asks nobody any more; 0: no limit", at_least(0)
    )


@dataclasses.dataclass(frozen=True)
class ProposingAgent(ContestantSection):
    """The proposing agent's answers and memory, for checkpoints without a run and servers other than ours."""

    max_observation_tokens: int = field_of(ContestantSection, "max_observation_tokens", default=256)
    constrained: bool = field_of(
        CallingAgentSection,
        "constrained",
        about="whether a policy that runs here can only sample calls of the environment",
    )
    thought: str = field_of(CallingAgentSection, "thought")
    list_actions: bool = field_of(CallingAgentSection, "list_actions")


@dataclasses.dataclass(frozen=True)
class SessionBrowsers(BrowserSection):
    """The browsers of all annotation sessions."""

    browsers: int = field_of(BrowserSection, "browsers", default=2)
    pages: int = field_of(
        BrowserSection,
        "pages",
        about="pages of all sessions at the same time; undoing a step briefly needs a second page",
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
