"""An environment is tried: one episode to read, and what is to be said of it before anybody trains on it.

Command:  ./launch/local.sh try NAME [--config.player=chance] [--config.environment_options=JSON]

NAME is what `train` takes: a game, a task of a benchmark, computer, phone, gymnasium:ID, package.module:attribute of
your own. Seconds for what is quick itself (nothing is compiled); what it does behind the first episode begins nothing
new after --config.seconds.

Expected result: the episode as a transcript, then one sentence for each thing that was found, as text and in
RUN/report.html: whether the same seed gives the same, whether a reset cleans, whether success can be had within the
step limit and goes with the rewards, what a window would cut of the text, what odd calls get, whether pictures keep
their size, seconds and tokens. It exits with 1 where something is to be mended.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import EndpointFields, PlayerFields
from tars_jax.pipelines.learning_sections import EpisodeSection
from tars_jax.pipelines.run_sections import ContestantSection, OnePageSection, SandboxSection
from tars_jax.pipelines.schema import OPEN, RunFields, section
from tars_jax.rules import Rule, at_least, field, field_of


@dataclasses.dataclass(frozen=True)
class TriedAgent(ContestantSection):
    """The agent's answers and observations."""

    grammar: str = field_of(
        ContestantSection,
        "grammar",
        about="form of the answers, as in `train`: plain where the text is the answer, else text",
    )
    list_actions: bool = field(True, "whether an endpoint's prompt lists the environment's calls")
    max_observation_tokens: int = field_of(
        ContestantSection,
        "max_observation_tokens",
        default=0,
        about="most tokens of an observation's text in a window of `train`; longer texts are reported; 0: no limit",
    )


@dataclasses.dataclass(frozen=True)
class Try(RunFields):
    """The environment to try, and the player that shows it."""

    environment: str = field(
        "",
        "environment to try",
        Rule(bool, "a game, a benchmark's task, gymnasium:ID, package.module:attribute or an entry point"),
    )
    environment_options: str = field("{}", "options of the environment, as JSON")
    player: str = field(
        "chance",
        "player of the episode that is shown: chance, reference (the environment's own scripted player), "
        "package.module:attribute of your own player, or the address of an OpenAI-compatible endpoint",
        Rule(bool, "chance, reference, package.module:attribute, or the address of an endpoint (http://...)"),
    )
    model: str = field_of(EndpointFields, "model")
    api_key_file: str = field_of(EndpointFields, "api_key_file")
    tools: str = field_of(
        PlayerFields,
        "tools",
        about="how an endpoint acts: text, in our grammar; native, by tool calls; computer or "
        "computer_use_preview, by OpenAI's computer tool",
    )
    answer_seconds: float = field_of(EndpointFields, "answer_seconds", default=120.0)
    max_steps: int = field(0, "step budget of an episode; 0: the environment's own", at_least(0))
    instruction: str = field_of(EpisodeSection, "instruction")
    episodes: int = field(8, "episodes with different seeds: the one that is shown, and others by chance", at_least(1))
    seconds: float = field(20.0, "time limit of everything after the episode that is shown, in seconds", at_least(0))
    preset: str = field("nano", "model whose tokens are counted: a preset, or a folder of exported weights")


def get_config() -> ConfigDict:
    return section(
        Try, agent=section(TriedAgent, grammar=OPEN), browser=section(OnePageSection), sandbox=section(SandboxSection)
    )
