"""How good a judge is: its verdicts beside people's labels, the benchmark's own rules and always saying yes.

Command:  ./launch/local.sh judge_agreement --config.labels=agent_reward_bench --config.source=FOLDER

With no options, the embedded rules of `webjudge` (seconds, deterministic, blind to pixels). With a model:
--config.judge_options='{"endpoint": {"address": "https://HOST/v1", "model": "NAME", "api_key_file": "FILE"}}'.
A reward model on recorded episodes whose verifier's verdicts are known: --config.labels=recorded
--config.source=RUN/trajectories/ppo --config.judge=orm --config.judge_options='{"checkpoint": "RUN/policy"}'.

Any judge on traces of several domains whose truth is hidden: --config.labels=traces --config.source=RUN, a run of
`judge_traces`.

What a published judge said, in place of asking one (AgentRewardBench's files BENCHMARK/AGENT/JUDGE/TASK.json):
--config.source=FOLDER --config.judge=JUDGE --config.judgments=FOLDER.

Agents' runs of Online-Mind2Web, in the form of its result.json, beside people's labels (FOLDER/human_label.json,
FOLDER/AGENT/TASK_ID): --config.labels=online_mind2web --config.source=FOLDER; with --config.judgments=FOLDER what its
evaluation said of them, from FOLDER/AGENT/..._auto_eval_results.json.

Judges of answers, by answers that somebody labelled who had not seen the rules (tars_jax/judges/labels/answers.py):
--config.labels=answers --config.judge=reference, or --config.judge=answer with an endpoint; each split and each kind of
answer is a row.

Expected result: agreement.md and result.json with the set and who made it, precision, recall, F1, false positive rate
and the share that the judge cannot say, by site and by length; and of scores between 0 and 1 the expected calibration
error and Brier score.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.judges.labels.agent_reward_bench import UNSURE
from tars_jax.judges.labels.labelled import CONTRADICTIONS, SETS
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, field, one_of


@dataclasses.dataclass(frozen=True)
class JudgeAgreement(RunFields):
    """The judge to measure, and the labels that it is compared with."""

    labels: str = field(
        "agent_reward_bench",
        "labels: agent_reward_bench, online_mind2web, recorded (episodes of our runs), traces (a run of "
        "judge_traces) or answers",
        one_of(*SETS),
    )
    source: str = field("", "folder of the labels; answers come with the package")
    judge: str = field("webjudge", "judge to measure, as config.task.judge of train", Rule(bool, "the name of a judge"))
    judge_options: str = field("{}", "options of the judge, as JSON")
    judgments: str = field(
        "", "folder of the judge's recorded verdicts; of `source` only annotations.csv is needed then"
    )
    unsure: str = field(
        "leave_out", 'what the label "Unsure" of AgentRewardBench counts as: leave_out or failure', one_of(*UNSURE)
    )
    contradiction: str = field(
        "leave_out", "what contradicting labels count as: leave_out, failure or first", one_of(*CONTRADICTIONS)
    )
    most: int = field(0, "most labels (trajectories or answers), sampled by the seed; 0: all", at_least(0))
    parallel: int = field(8, "trajectories or answers that are judged at the same time", at_least(1))


def get_config() -> ConfigDict:
    return section(JudgeAgreement)
