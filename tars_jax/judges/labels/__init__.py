"""Labelled trajectories of others: what people said of what agents did, to measure judges by.

labels = read_agent_reward_bench(folder)          # or read_online_mind2web(file)
"""

from tars_jax.judges.labels.agent_reward_bench import read_agent_reward_bench
from tars_jax.judges.labels.answers import read_answers, shipped_answers
from tars_jax.judges.labels.labelled import Labelled, agreement, settled
from tars_jax.judges.labels.online_mind2web import read_online_mind2web

__all__ = [
    "Labelled",
    "agreement",
    "read_agent_reward_bench",
    "read_answers",
    "read_online_mind2web",
    "settled",
    "shipped_answers",
]
