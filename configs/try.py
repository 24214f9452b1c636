"""An environment is tried: one episode to read, and what is to be said of it before anybody trains on it.

Command:  ./launch/local.sh try NAME [--config.player=chance] [--config.environment_options=JSON]

NAME is what `train` takes: a game, a task of a benchmark, computer, phone, gymnasium:ID, package.module:attribute of
your own. Seconds for what is quick itself (nothing is compiled); what it does behind the first episode begins nothing
new after --config.seconds.

Expected result: the episode as a transcript, then one sentence for each thing that was found, as text and in
RUN/report.html: whether the same seed gives the same, whether a reset cleans, whether success can be had within the
step limit and goes with the rewards, what a window would cut of the text, what odd calls get, whether pictures keep
their size, seconds and tokens. It exits with 1 where something is to be mended.
"""

from ml_collections import ConfigDict
from ml_collections.config_dict import placeholder

from configs import train


def get_config() -> ConfigDict:
    usual = train.get_config()
    return ConfigDict(
        {
            "environment": "",  # which one
            "environment_options": "{}",  # its options as JSON
            # Who plays the episode that is shown: chance, reference (the environment's own scripted player),
            # package.module:attribute of a player of your own, or the address of an OpenAI-compatible endpoint.
            "player": "chance",
            "model": "",  # the model's name at an endpoint
            "api_key_file": "",  # a file that holds the key alone
            # How an endpoint says what it does: text, in a grammar of ours; native, by calls of tools; computer or
            # computer_use_preview, by OpenAI's computer tool.
            "tools": "text",
            "answer_seconds": 120.0,  # that an endpoint may take for one answer
            "seed": 0,  # of the task
            "max_steps": 0,  # of an episode; 0: as the environment says
            "instruction": "",  # where the environment has none of its own
            "episodes": 8,  # with as many seeds: the one that is shown, and others by chance
            "seconds": 20.0,  # for all behind the episode that is shown
            "preset": "nano",  # whose tokens are counted: a preset or a folder of exported weights
            "browser": {"size": usual.browser.size, "use_angle": usual.browser.use_angle},
            "sandbox": usual.sandbox,
            "agent": {
                "grammar": placeholder(str),  # as `train` has it: plain where what is said is the answer, else text
                "coordinates": "grid",
                "show_budget": True,
                "list_actions": True,  # an endpoint is told what can be called
                "min_steps": 1,
                "max_steps": 4,
                "max_summaries": 8,
                # Of a text, that a window of `train` holds; what is longer is found. 0: as many as it takes.
                "max_observation_tokens": usual.agent.max_observation_tokens or 0,
            },
            "run": "",
        }
    )
