"""The data flywheel: each model makes the data of the next one (UI-TARS-2, 2.3).

Command:  ./launch/local.sh flywheel --config.cycles=3 [--config.seed=SEED]

Mazes of 1 to 4 moves in a real Chromium: a cold start of demonstrations that wander in half of their moves, then cycles
of rejection sampling on fresh mazes, routing by verdict, CT every second cycle, SFT, value pretraining and PPO.
Controls: --config.control=first_cycle (what later cycles generate is measured, and not trained on), and
--config.control=no_routing (everything into both sets, whatever its verdict).

What came of it so far, seed 0, on a machine with twenty other jobs, killed in cycle 2 after 46 minutes, and before CT
had text and RL's episodes were routed; neither a control nor another seed was run (configs/flywheel_text.py has them in
minutes, without Chromium):

| cycle | share of V = 1 of what its model generated | held out, after SFT | after RL |
|-------|--------------------------------------------|---------------------|----------|
| 0     | (the demonstrations: 63.3% of 300)         | 52.5% of 80         |          |
| 1     | 51.6% [45, 59] of 192                      | 55.0%               | 58.8%    |
| 2     | 66.1% [59, 72] of 192                      |                     |          |

+14.6 points [5, 24] of V = 1 from cycle 1 to 2. Held-out success, +6.2 points [-9, 21], does not show by 80 tasks.

Expected result: RUN/report.html with the share of V = 1 by cycle, the sizes of the data sets, scores by stage and the
lineage of models; RUN/store, which `store` lists, samples and exports; RUN/cycles/N/model.
"""

import dataclasses

from ml_collections import ConfigDict

from configs import train
from configs.rejection_sampling import Sampling
from tars_jax.pipelines.learning_sections import (
    BroughtDemonstrationsSection,
    MixtureSection,
    PPOSection,
    SupervisedSection,
    TaskSection,
    ValueSection,
)
from tars_jax.pipelines.run_sections import CallingAgentSection, LearnedEngineSection, PackingSection, of_runs
from tars_jax.pipelines.schema import section
from tars_jax.rules import Rule, at_least, between, field, field_of, one_of

TEXT_SHARE = Rule(lambda share: 0 <= share < 1, "a share from 0 to below 1")


@dataclasses.dataclass(frozen=True)
class Flywheel(train.Learned):
    """The data flywheel: its cycles, its tasks and its controls."""

    environment: str = field_of(train.Learned, "environment", default="maze_path_of_light")
    environment_options: str = field_of(
        train.Learned,
        "environment_options",
        default='[{"distance": [1, 1]}, {"distance": [2, 2]}, {"distance": [3, 3]}, {"distance": [4, 4]}]',
        about="options of the environment as JSON; a list holds several kinds of tasks",
    )
    cycles: int = field(
        3, "cycles after the cold start; 0: only the cold start; a finished run can be resumed with more", at_least(0)
    )
    control: str = field(
        "none",
        "ablation of the flywheel: none; first_cycle, data of the cold start and cycle 1 only; no_routing, "
        "all data into both sets",
        one_of("none", "first_cycle", "no_routing"),
    )
    tasks: str = field(
        "",
        "source of tasks: empty, the environment; a .jsonl file of synthesized questions (environment "
        "browsing) or website tasks (website_app); or package.module:attribute",
    )
    solution_steps: int = field(
        0,
        "longest recorded solution of a website task, in steps: tasks with longer ones are left out; 0: none are",
        at_least(0),
    )
    reader: str = field(
        "store",
        "how training reads its sets: store, from the trajectory store; or array_record, from ArrayRecord "
        "files by grain (the extra)",
        one_of("store", "array_record"),
    )
    evaluate_ct: bool = field(True, "whether the held-out tasks are also played after CT")


@dataclasses.dataclass(frozen=True)
class MixtureOfPPO(MixtureSection):
    """The mixture of a PPO batch: a weight for each environment, or for each website of a file of tasks."""

    weights: tuple[float, ...] = field_of(
        MixtureSection,
        "weights",
        about="weights of the environments, times those of their options, or of the websites of a file of tasks, "
        "in order of their names; empty: tasks come in their own proportions",
    )


@dataclasses.dataclass(frozen=True)
class Annotation:
    """Annotated data: episodes that people corrected or judged."""

    datasets: tuple[str, ...] = field(
        (),
        "annotated data sets, as in `demonstrations.datasets`. A name with {cycle} is read by the cycle of "
        "that number once it exists; others by the cold start",
    )


@dataclasses.dataclass(frozen=True)
class Text:
    """Text-only data of any domain: the base of CT, to which the agent's failed episodes (V = 0) are added."""

    datasets: tuple[str, ...] = field(
        ("tars_jax.data.tutorials:tutorials", "tars_jax.data.texts:sums"),
        "text-only data sets, as in `demonstrations.datasets`",
    )
    ct_weight: float = field(0.75, "share of text in the tokens of CT, if there is any text; most of them", TEXT_SHARE)
    sft_weight: float = field(0.1, "share of text in the tokens of SFT", TEXT_SHARE)


@dataclasses.dataclass(frozen=True)
class Recycle:
    """Episodes of PPO and value pretraining that the next cycle routes like generated ones."""

    episodes: int = field(
        256,
        "most episodes of PPO, and of value pretraining, that enter the store; those left out are counted",
        at_least(0),
    )


@dataclasses.dataclass(frozen=True)
class SFT(SupervisedSection):
    """Supervised fine-tuning: fitting the policy to the SFT set."""

    episodes: int = field(
        0, "episodes sampled for one training; 0: as many as the set holds, with text besides", at_least(0)
    )


@dataclasses.dataclass(frozen=True)
class CT(SFT):
    """Continual pre-training: fitting the policy to the CT set every few cycles."""

    every: int = field(2, "cycles between two continual pre-trainings; 0: never", at_least(0))


@dataclasses.dataclass(frozen=True)
class Keep:
    """The model with which the next cycle begins."""

    by: str = field(
        "latest",
        "model that is kept: latest; better, the better of new and previous model on held-out tasks of its "
        "own; or merged, the best of these two and their merge",
        one_of("latest", "better", "merged"),
    )
    episodes: int = field(40, "episodes of those held-out tasks", at_least(1))
    weight: float = field(0.5, "weight of the new model in the merge", between(0, 1))


def get_config() -> ConfigDict:
    return section(
        Flywheel,
        mixture=section(MixtureOfPPO),
        **of_runs(
            agent=section(CallingAgentSection, constrained=False),
            packing=section(PackingSection, row_length=0, images_per_row=0),
            engine=section(LearnedEngineSection, max_length=0, length_buckets=(64,), max_new_tokens=24),
        ),
        task=section(TaskSection, max_steps=5, evaluation_episodes=80),  # the same after each stage of each cycle
        demonstrations=section(BroughtDemonstrationsSection, episodes=300, skill=0.5),
        annotation=section(Annotation),
        text=section(Text),
        recycle=section(Recycle),
        sampling=section(Sampling, tasks=96, samples=2),
        ct=section(CT, updates=60),
        sft=section(SFT, updates=150),
        value=section(ValueSection, episodes=160, max_episodes=480, max_updates=60, evaluate_every=5, patience=4),
        ppo=section(PPOSection, in_order=True, updates=4, min_batch=96, minibatch_rows=64),
        keep=section(Keep),
    )
