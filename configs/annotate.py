"""People decide on the policy's own path, step by step, on a page: supervised fine-tuning data that is on policy.

Command:  ./launch/local.sh annotate [--config.checkpoint=RUN/policy] [--config.environment=NAME]

Without a flag: small mazes, and an untrained policy that proposes what it can. The address with the owner's key is
printed when the page is ready (half a minute here). Ctrl-C ends it: finished episodes are in
RUN/annotation/trajectories, and the last line is the command that trains on them; unfinished ones go on with
--config=RUN/config.json --config.run=RUN, and whatever flags are others now: people, policy, gate. What is recorded,
where it lies and how it is deleted: docs/annotation_interactive.md.
"""

import ml_collections
from ml_collections.config_dict import placeholder

from configs import evaluate


def get_config() -> ml_collections.ConfigDict:
    config = evaluate.get_config()
    for field in ("suite", "names", "next_levels", "levels", "lmgame_harness", "sokoban_levels"):
        del config[field]
    for field in ("super_mario_bros_rom", "ace_attorney_rom", "gaming_agent", "episodes", "max_steps"):
        del config[field]
    for field in ("tasks", "attempts", "time_limit", "interface", "judge", "judge_options"):
        del config[field]
    # Who proposes: a folder of exported weights or a run that has some, whose newer ones are taken while people work;
    # the address of our server or of an OpenAI-compatible endpoint; reference, person or random; none: nobody; empty:
    # an untrained nano model.
    config.checkpoint = ""
    config.candidates = 3  # answers that it proposes at each step; those that are alike are shown once
    config.answer_seconds = 60.0  # for all of a step
    # As `train` takes them; mazes of 2 to 4 moves are there for whoever only wants to see it.
    config.environment = "maze_path_of_light"
    config.environment_options = '{"distance": [2, 4]}'
    config.num_tasks = 24  # how many there are to annotate
    config.failures = ()  # folders of the policy's episodes (RUN/trajectories/STAGE): tasks that failed come first
    config.task = ml_collections.ConfigDict(
        {
            "max_steps": placeholder(int),  # of an episode, where its environment does not say less
            "instruction": "",  # where the environment has none of its own
            "success_threshold": "",  # a return that is success; empty: as the environment says
        }
    )
    config.gate = ml_collections.ConfigDict(
        {
            # When a person decides: every_step; gated: where the policy is uncertain, else it goes on by itself;
            # on_call: where it calls the user.
            "mode": "every_step",
            "uncertainty": 0.5,  # gated asks above it: entropy over distinct actions, 0 to 1
            "margin": 0.0,  # and where the two likeliest are nearer than this
            "value": placeholder(float),  # and where the run's value model expects less than this; auto: it asks nobody
            "value_checkpoint": "",  # the value model's weights; empty: RUN/value beside the policy's
            "calm_share": 0.6,  # of `uncertainty`: below it a step is calm
            "calm_steps": 1,  # in a row, after which the policy goes on by itself
            "minutes": 0.0,  # of each person's time; after that the gate asks nobody; 0: no end
        }
    )
    config.annotators = ()  # besides the owner: NAME or NAME:ROLE, of annotator, reviewer, owner; each has a key
    config.lease_seconds = 900.0  # of a task of which nothing is heard
    config.host = "127.0.0.1"  # of the page: an address of this machine alone
    config.port = 0  # 0: any that is free
    config.agent.max_observation_tokens = 256
    config.agent.constrained = True  # an own model samples calls of the environment and nothing else
    config.agent.thought = "optional"
    config.agent.list_actions = False
    config.browser.pages = 8  # of all sessions; undoing a step takes a second one for a moment
    return config
