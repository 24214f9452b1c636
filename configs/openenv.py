"""Any environment that `train` takes, over OpenEnv's protocol (HTTP and WebSocket).

Command:  ./launch/local.sh openenv --config.environment=maze_path_of_light

Ready in seconds, when it prints the address and the token. Ctrl-C or SIGTERM ends it.
"""

from ml_collections import ConfigDict

from configs import quickstart


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "environment": "computer",  # a game, a benchmark's task, gymnasium:ID, package.module:attribute
            "options": "",  # of its tasks, JSON; `reset` may name others
            "episodes": 16,  # at once
            "sandbox": quickstart.get_config().sandbox,
            "host": "127.0.0.1",  # another address lets others in who know the token, without TLS
            "port": 8720,  # 0: any that is free
            "seed": 0,
            "run": "",
        }
    )
