"""A benchmark suite, played by any policy.

Commands:
  ./launch/local.sh evaluate --config.suite=games15 --config.checkpoint=RUN/policy
  ./launch/local.sh evaluate --config.suite=miniwob --config.checkpoint=http://127.0.0.1:8000
  ./launch/local.sh evaluate --config.suite=lmgame --config.checkpoint=https://somewhere/v1 --config.model=NAME
  ./launch/local.sh evaluate --config.checkpoint=https://somewhere/v1 --config.model=NAME --config.tools=native
  ./launch/local.sh evaluate --config.suite=games15 --config.checkpoint=random

Benchmarks of others, from their own files (docs/benchmarks.md), write their own result files, too.

Expected result: the tables of the UI-TARS-2 report for our episodes, with its own rows beside ours and marked as such,
and the score against the step budget: RUN/report.md, RUN/budget.svg, RUN/result.json. A run that was killed plays only
what it lacks: --config.run=RUN. One that lost every episode to the infrastructure has measured nothing and exits 1.

Whole suites, on two cores with another job on one of them, 95% intervals in brackets:

  --config.suite=miniwob --config.checkpoint=random --config.episodes=8 --config.max_steps=10 --config.seed=1
      133 tasks, 4.7% [4, 6] of 1,064 episodes succeed, none lost to the infrastructure, 6 minutes
  --config.suite=lmgame --config.max_steps=60, six episodes of each, played by random and by reference
      2048 82.6 [80.9, 84.4] (raw 309) and 89.1 [88.6, 89.6] (raw 482); Candy Crush 18.3 [7.0, 32.5] and
      670 [620, 723]; Sokoban 0 [0, 0] and 8 [8, 8]; Tetris 6.3 [4.5, 8.8] and 51.3 [43.3, 58.2]
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.environment import INTERFACES
from tars_jax.pipelines.command_fields import LevelFields, PlayerFields
from tars_jax.pipelines.run_sections import ContestantSection, EngineSection, MeshSection, places
from tars_jax.pipelines.schema import Section, section
from tars_jax.rules import Rule, at_least, field, field_of, one_of
from tars_jax.tasks.benchmarks.catalog import BENCHMARKS, is_benchmark
from tars_jax.tasks.library import LMGAME_HARNESSES, SUITES


@dataclasses.dataclass(frozen=True)
class Evaluation(LevelFields, PlayerFields):
    """The benchmark suite, and the policy that plays it."""

    suite: str = field(
        "games15",
        "suite to play: games15, miniwob or lmgame; or another benchmark, whose files `tasks` names "
        "(docs/benchmarks.md)",
        Rule(
            lambda name: name in SUITES or is_benchmark(name) or ":" in name,
            f"one of {', '.join([*SUITES, *BENCHMARKS])}, or package.module:attribute",
        ),
    )
    tasks: str = field("", "files of a benchmark: a checkout, a folder or a file, as the benchmark publishes them")
    names: tuple[str, ...] = field(
        (),
        "tasks of the suite to play, as `python -m tars_jax.envs` lists them, and folders of games; task "
        "ids of a benchmark; (): all",
    )
    checkpoint: str = field(
        "reference",
        "policy that plays: a folder of exported weights, the address of our server or of an "
        'OpenAI-compatible endpoint, "reference" (scripted players of our games), "person" (the same at a '
        'person\'s pace, with errors), or "random"',
    )
    attempts: int = field(0, "attempts at each task of a benchmark; 0: as many as its leaderboard counts", at_least(0))
    time_limit: float = field(
        0.0, "time limit of a benchmark's episode, in seconds; 0: the benchmark's own", at_least(0)
    )
    interface: str = field(
        "",
        "interface of a benchmark's tasks: gui, sdk or both; empty: the environment's default",
        one_of("", *INTERFACES),
    )
    environment_options: str = field("{}", "further options of a benchmark's environment, as JSON")
    judge: str = field("", "judge of a benchmark's episodes; empty: its own")
    judge_options: str = field("{}", "options of the judge, as JSON")
    lmgame_harness: str = field(
        "none",
        "text that LMGame-Bench adds to the screenshots: none; text, the board and the last ten moves, "
        "written by us; or gamingagent, the benchmark's own modules, which need its package",
        one_of(*LMGAME_HARNESSES),
    )
    sokoban_levels: str = field("", "LMGame-Bench's levels.txt, for its Sokoban levels instead of ours")
    super_mario_bros_rom: str = field(
        "", "file of Super Mario Bros. that you own (.nes), which is then played, too; needs the extra `retro`"
    )
    ace_attorney_rom: str = field(
        "", "file of Ace Attorney that you own (.gba), which is then played, too; needs gaming_agent"
    )
    gaming_agent: str = field(
        "", "checkout of lmgame-org/GamingAgent, whose saved states and dialogues Ace Attorney needs"
    )
    episodes: int = field(0, "episodes of each game or task; 0: LMGame-Bench's 3 runs, else 6", at_least(0))
    max_steps: int = field(
        0, "step budget of an episode; 0: 100 in games15, else the game's or task's own", at_least(0)
    )


@dataclasses.dataclass(frozen=True)
class ContestantEngine(EngineSection):
    """The inference engine of a checkpoint that plays."""

    max_length: int = field_of(
        EngineSection,
        "max_length",
        default=0,
        about="tokens of a context window; 0: as long as needed, and length_buckets with it",
    )
    max_new_tokens: int = field_of(
        EngineSection,
        "max_new_tokens",
        default=0,
        about="most tokens of an answer; 0: as in the checkpoint's run, else 48",
    )
    length_buckets: tuple[int, ...] = field_of(EngineSection, "length_buckets", default=(64, 256))


def contestants(pages: int = 4) -> dict[str, Section]:
    """Sections of an experiment in which somebody plays who does not learn."""
    return {
        "mesh": section(MeshSection),
        **places(pages=pages, browsers=2),
        "agent": section(ContestantSection),
        "engine": section(ContestantEngine),
    }


def get_config() -> ConfigDict:
    return section(Evaluation, **contestants())
