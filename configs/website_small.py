"""A real website at nano size: four boxes of a page of Fossil at 160x112 pixels, demonstrations that err, then PPO.

Command:  ./launch/local.sh train --config=website_small --config.seed=SEED      # after ./launch/websites.sh fossil

For T1, T4 and T6 on tasks of a website: the report of the run draws reward, steps and think tokens over updates, and
`compare` puts them beside those of a game and of Browsing. Chance: boxes and button drawn evenly solve 5% of the tasks.
The reference player solves all of them in 3.1 steps; demonstrations, which do anything in 40% of their moves, solve two
thirds in 4.6, and half of their thoughts name all the boxes that are not yet as they should be.

Seen with seed 0 alone, half an hour of processor beside other work: the policy solves 64.0% of 100 held-out tasks after
supervised training, as its demonstrations do (63.5%), and 100% after twelve updates of PPO (+36.0 points, 95% interval
+26 to +46). From the first two updates to the last two, rewards rise from .59 to .96 (T1), think tokens fall from 6.5
to 5.5 a step (T4), and steps from 4.6 to 3.5 an episode (T6). Where to click is learned late: after 800 supervised
updates it solved 13% of the same tasks.
"""

import json

import ml_collections

from configs import train

OPTIONS = {"tasks": "tars_jax.tasks.websites.timeline_boxes:tasks", "size": (800, 560), "shown": (160, 112)}


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "website_app"
    config.environment_options = json.dumps(OPTIONS)
    config.task.max_steps = 6
    config.task.evaluation_episodes = 100
    config.agent.constrained = False
    config.agent.list_actions = False
    config.agent.max_observation_tokens = 0
    config.engine.max_new_tokens = 32
    config.browser.pages = 8
    config.demonstrations.episodes = 400
    config.demonstrations.skill = 0.6
    config.supervised.updates = 2000
    config.value.episodes = 200
    config.value.max_updates = 60
    config.ppo.updates = 12
    config.ppo.min_batch = 64
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 5e-4
    return config
