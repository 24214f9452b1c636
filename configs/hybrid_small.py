"""Browsing by clicks, by calls and by both, at nano size: the pages of configs/browsing_small.py, two interfaces.

Command:  ./launch/local.sh merge_hybrid --config=hybrid_small --config.seed=SEED

One policy has seen demonstrations of both interfaces. By PPO on one alone it becomes two specialists, whose merge and a
hybrid stand beside them, as `merge_hybrid` has it; for T3, T11 and T16 in real pages. Seen with seed 0 alone, in two
hours beside other work, 100 held-out tasks of each interface:

| agent                     | by clicks      | by calls       |
|---------------------------|----------------|----------------|
| start                     | 65.0% [55, 74] | 66.0% [56, 75] |
| clicks alone, 10 updates  | 98.0% [93, 99] | 77.0% [68, 84] |
| calls alone, 10 updates   | 86.0% [78, 91] | 96.0% [90, 98] |
| the merge of both         | 94.0% [88, 97] | 94.0% [88, 97] |
| hybrid, 20 updates        | 96.0% [90, 98] | 92.0% [85, 96] |

By calls the reward rises from .54 to .86 while entropy falls from .052 to .032 nats (T3); by clicks from .64 to .96,
and entropy falls, too, from .072 to .037. Calls are not better than clicks (T16), and the hybrid is not better by
clicks than clicks alone (T11; of its own batches' tasks it solved .95 so in updates 9 and 10, clicks alone .96).
Calls alone help by clicks, too (65 to 86%).

The hybrid once more with a value model for each interface (`--config.ppo.value_models=part`): 97% by clicks and 99% by
calls. Of returns its value models explain .13 in the last ten updates, the shared one .11 (T12 not seen).
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
