"""A file to go on from: an environment, a judge or a player of your own, with comments, which runs as it is.

Command:  ./launch/local.sh new KIND [NAME]

KIND is environment, judge or player. At once.
Expected result: NAME.py where you stand (mine.py, my_judge.py or my_player.py without a NAME); its first lines say what
to do with it. A file that is there is never replaced.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "kind": "",  # what is to be brought
            "name": "",  # of the module; empty: by its kind
        }
    )
