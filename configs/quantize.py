"""A trained policy in int4 weights and int8 activations: size, error by layer, score and speed against floating point.

Commands:
  ./launch/local.sh quantize --config.checkpoint=RUN/policy
  ./launch/local.sh quantize --config.checkpoint=RUN/policy --config.suite=miniwob

Needs the extra "quantization" (qwix). Both sides play the same tasks by turns, those of `task` or of a suite that
`evaluate` has; RUN/report.md has score, tokens a second and seconds a round of both, and the report's figures beside.
Tokens a second are of one episode while its policy is asked, what it reads included; a round is its answer and what
the environment makes of it.

On the policy of a quickstart with seed 0, before it was timed: 76.1% of 1,000 held-out levels in floating point, 74.6%
in W4A8, -1.5 points [-3.4, 0.5] with the levels paired, so no more than 4.5% of the score (the report lost 6.5%); 3.03
MB became .71. Some three minutes on two cores, most of it the episodes.

On two processor cores W4A8 is slower. 125 levels of each side by such a policy, five turns, four pages at a time, with
much other work on both cores (a load of 20): 88 tokens a second and .31 s a round in floating point, 22 and .88 in
W4A8; turn by turn .29, .29, .23, .15 and .28 of the tokens a second. Score 76.8% and 73.6% (-3.2 points [-8.8, 2.4]).
On a GPU the same command measures it; that has not been run.

The suite games15 to its end, by --config.suite=games15 --config.episodes=2 --config.max_steps=16 --config.levels=1,
--config.turns=2 and the policy of a small configs/games15.py: score 33.3% and 20.0% of 30 episodes (-13.3 points
[-30, 0]), 942 and 426 tokens a second, .062 and .081 s a round.

The error over the sampled tokens of 256 windows, where nothing but the part named is quantized:

| quantized          | KL, nats a token | same best token |
|--------------------|------------------|-----------------|
| all but the router | .0328            | 97.0%           |
| attention          | .0174            | 97.9%           |
| vision             | .0151            | 98.0%           |
| experts            | .0054            | 98.8%           |
| head               | .0002            | 99.6%           |

On an earlier policy int4 weights alone gave the same error within .001 nats for every part, so int8 activations add
nothing that is seen, and the router's int4 weights would have cost .0011. The router is kept, as its 1,536 numbers are
nothing to save; the vision encoder need not be.
"""

import dataclasses

from ml_collections import ConfigDict

from configs.evaluate import ContestantEngine, contestants
from tars_jax.model.execution import Execution
from tars_jax.pipelines.command_fields import LevelFields, PlayerFields
from tars_jax.pipelines.learning_sections import MazeTaskSection
from tars_jax.pipelines.run_sections import ComputedModelSection
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, field, field_of, is_pattern, one_of
from tars_jax.tasks.library import SUITES


@dataclasses.dataclass(frozen=True)
class Quantize(LevelFields, RunFields):
    """The policy to quantize, and the games that measure the loss."""

    checkpoint: str = field(
        "", "folder of exported weights to quantize", Rule(bool, "a folder of exported weights, such as RUN/policy")
    )
    output: str = field("", "folder of the quantized weights; empty: w4a8 in the run directory")
    kept: tuple[str, ...] = field(
        ("/router$",),
        "regular expressions of parameters that stay in floating point",
        Rule(lambda values: all(map(is_pattern, values)), "regular expressions of parameters' paths"),
    )
    suite: str = field(
        "",
        "suite that both policies play, as in `evaluate`: games15, miniwob or lmgame; empty: `task`",
        one_of("", *SUITES),
    )
    names: tuple[str, ...] = field((), "tasks of the suite to play; (): all")
    episodes: int = field(6, "episodes of each game or task of a suite; 0: as in `evaluate`", at_least(0))
    max_steps: int = field(100, "step budget of an episode of a suite; 0: as in `evaluate`", at_least(0))
    screen: int = field_of(PlayerFields, "screen")
    turns: int = field(4, "rounds in which the two policies alternate, so that a busy machine slows both", at_least(1))
    rows: int = field(
        256, "context windows of the float policy's episodes on which the quantization error is measured", at_least(1)
    )


@dataclasses.dataclass(frozen=True)
class FloatEngine(ContestantEngine):
    """The inference engine that both policies play with."""

    weights: str = field_of(ContestantEngine, "weights", rule=one_of("float"))


def get_config() -> ConfigDict:
    return section(
        Quantize,
        **{**contestants(), "engine": section(FloatEngine)},
        levels=(1, 2, 3),
        model=section(ComputedModelSection, execution=section(Execution)),
        task=section(MazeTaskSection, evaluation_episodes=1000),  # paired, they bound the loss to about 3 points
    )
