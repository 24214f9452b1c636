"""The report's trends at pico size, on the device: what holds, over five seeds.

Command:  ./launch/local.sh scoreboard                       # all of them
          ./launch/local.sh scoreboard --config.trends=T7    # one

What came of it, with seeds 0 to 4 (95% intervals over seeds; all of it in notebooks/trends.ipynb):

| trend | verdict | effects |
|---|---|---|
| T1 reward rises | undecided | checklist +.32 [.16, .48]; maze and 2048 flat at this size |
| T2 entropy is higher late | does not hold | checklist -.14 [-.16, -.12], 2048 -.05 [-.09, -.01] nats |
| T4 thoughts shorten | holds | .94 [.72, 1.16] tokens fewer |
| T6 fewer steps, more reward | holds | .76 [.34, 1.17] steps fewer |
| T7 value pretraining | does not hold | reward +.025 [.011, .038], as claimed; correlation without it is not negative |
| T8 step budget | does not hold | +.15 [.11, .18] beyond the training's budget, as claimed; the start gains more |
| T9 PPO beats GRPO | holds | success +.14 [.01, .27], volatility -.045 [-.072, -.017] |
| T13 merging | undecided | checklist -.031 [-.063, .002], maze -.012 [-.045, .021], tolerance .05 |
| T14 W4A8 | undecided | checklist -1% [-9, 7], maze -11% [-19, -4] of the score, tolerance 10% |
| T17 erring verifier | undecided | true success +.23 [-.05, .52] |

An hour and a half of two processes on two cores that other work shared. Trends of one run share trainings: the
minutes that a result states are those of the trend that came first. Two processes took the trends between them; the
trends of one run and those of several are the same trainings.
"""

import ml_collections

from configs import on_device


def get_config() -> ml_collections.ConfigDict:
    config = ml_collections.ConfigDict()
    config.seed = 0  # the first of the seeds that count
    config.run = ""  # run directory; empty: a new one under runs/
    config.trends = ("all",)  # or some of them: T1,T7
    config.seeds = 5
    config.tuning_seeds = 2  # others, that count for nothing
    # Every side of a comparison is tried with all of these on the tuning seeds.
    config.learning_rates = (2.5e-4, 5e-4, 1e-3)
    # The agent that is trained, smaller than that of configs/on_device.py; `games` says what differs from game to game.
    agent = on_device.get_config()
    agent.seeds_by = "turns"  # a program is compiled once for the search's seeds and those that count
    agent.rollout.episodes = 64
    agent.supervised.update({"updates": 300, "episodes": 16, "batch_rows": 64})
    agent.value.update({"updates": 20, "part": 20})
    agent.ppo.update({"updates": 40, "part": 20, "learning_rate": 1e-3, "epochs": 1})
    config.agent = agent
    config.games = ml_collections.ConfigDict(
        {
            "checklist": {"game": {"name": "checklist", "steps": 6}},
            "maze": {"game": {"name": "maze", "steps": 6}},
            "game_2048": {"game": {"name": "2048", "steps": 10}},
        }
    )
    return config
