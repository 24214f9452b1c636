"""What the stages of a chain share. Not an experiment: each stage's config begins with it.

The tasks are mazes by distance, as in the quickstart, or, with `games`, several games at `levels`.
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = ml_collections.ConfigDict()
    config.seed = 0
    config.run = ""  # run directory; empty: a new one under runs/
    for section in (*quickstart.OF_RUNS, "task"):
        config[section] = base[section]
    # As many tokens and screenshots as the windows of the tasks take: 48, one, 48 and 24 of mazes.
    config.packing.row_length = config.packing.images_per_row = 0
    config.engine.max_length = config.engine.max_new_tokens = 0
    config.games = ()  # none: mazes of task.evaluation_distances
    config.levels = (1,)  # of `games`
    config.task.evaluation_distances = (1, 4)
    config.task.evaluation_episodes = 100
    return config


def farther() -> ml_collections.ConfigDict:
    """For stages that a policy goes through after its demonstrations: mazes beyond these, where it has to learn."""
    config = get_config()
    config.model.preset = ""  # RUN/policy of an earlier stage
    config.task.evaluation_distances = (3, 6)
    config.task.max_steps = 8
    return config


def imitation(episodes: int) -> ml_collections.ConfigDict:
    """What CT and SFT add, before they differ."""
    config = get_config()
    config.demonstrations = ml_collections.ConfigDict(
        {
            "episodes": episodes,  # of reference players, played here
            "distances": (1, 4),  # of mazes
            "skills": (0.5,),  # of the reference players, each for its share of the episodes
            "verdict": "any",  # which episodes are imitated: any, solved (V = 1), failed (V = 0)
            # More: RUN/trajectories/ppo, .jsonl, .parquet, package.module:attribute; see tars_jax/data/datasets.py
            "datasets": (),
        }
    )
    config.supervised = quickstart.get_config().supervised
    config.supervised.loss_on = "agent"  # the agent's own tokens; or text, all that was read or written
    return config
