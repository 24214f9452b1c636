"""Sets of labels, and who made them: a figure of a judge says nothing without both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class LabelSet(NamedTuple):
    name: str
    made_by: str


SETS: Mapping[str, LabelSet] = {
    "agent_reward_bench": LabelSet(
        "AgentRewardBench: trajectories of web agents (arXiv 2504.08942)", "its authors' annotators, who judged by hand"
    ),
    "online_mind2web": LabelSet(
        "Online-Mind2Web: what agents did on live websites (arXiv 2504.01382)", "its authors' annotators, by hand"
    ),
    "recorded": LabelSet("episodes of runs", "their environments, whose verdicts no judge has seen"),
    "answers": LabelSet(
        "answers to questions, tars_jax/judges/labels/answers_*.jsonl", "somebody who had not seen the rules, by hand"
    ),
    "traces": LabelSet(
        "traces of the recipe in configs/judge_traces.py", "their environments' hidden state, by the recipe's seed"
    ),
}
