"""Browsing by clicks, by calls and by both, at nano size: the pages of configs/browsing_small.py, two interfaces.

Command:  ./launch/local.sh merge_hybrid --config=hybrid_small --config.seed=SEED

One policy has seen demonstrations of both interfaces. By PPO on one alone it becomes two specialists, whose merge and a
hybrid stand beside them, as `merge_hybrid` has it; for T3, T11 and T16 in real pages.
"""

import json

import ml_collections

from configs import browsing_small, merge_hybrid


def get_config() -> ml_collections.ConfigDict:
    small, config = browsing_small.get_config(), merge_hybrid.get_config()
    config.environment = small.environment
    config.environment_options = json.dumps([{"interface": "gui"}, {"interface": "sdk"}])
    config.mixture.weights = (1.0, 1.0)
    for section in ("agent", "browser", "demonstrations", "engine", "ppo", "supervised", "task", "value"):
        config[section] = small[section]
    config.agent.max_observation_tokens = 96  # a page by a call whole: its color stands in the middle
    return config
