"""One agent learns all fifteen games, level after level, for the curves of the report's figure 13; hours.

Commands:
  ./launch/local.sh games --config=configs/games15.py --config.seed=0
  ./launch/local.sh games --config=configs/games15.py --config.seed=1
  ./launch/local.sh compare --config.runs=SEED_0,SEED_1 --config.sections='Each game while PPO trains,'
      --config.output=figure13.svg

Expected result: RUN/report.html with two curves for each game while PPO trains, the share of episodes that solve a
level and the mean score, with the lines of the best scripted player and of one of a person's pace and errors on
held-out tasks of the same budget.

Two seeds at a tenth of the size, by demonstrations.episodes=300 supervised.updates=300 task.max_steps=16
task.scale_episodes=1 task.evaluation_episodes=45 value.episodes=60 value.max_episodes=60 value.max_updates=20
ppo.updates=8 ppo.min_batch=45: some ten minutes each on two quiet cores. All curves and lines are there, and eight
updates of three episodes a game move none of them: mean return of 45 held-out episodes .33 to .20 and .33 to .36
(differences -.13 [-.31, .05] and +.02 [-.22, .27]). Gem 11, 2048 and Merge and Double are solved from the start on;
seven games never are. At full size neither seed has been run.
"""

import ml_collections

from configs import games


def get_config() -> ml_collections.ConfigDict:
    config = games.get_config()
    config.games = ("games15",)
    config.task.next_levels = config.task.level_rewards = True
    config.task.max_steps = 40
    config.task.scale_episodes = 4
    config.task.evaluation_episodes = 300
    config.packing.row_length = config.packing.images_per_row = 0  # as the longest of their windows takes
    config.engine.max_length, config.engine.max_new_tokens = 0, 40
    config.demonstrations.episodes = 3000
    return config
