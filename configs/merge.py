"""One agent out of several that were trained from one start: a weighted mean of their parameters.

Command:  ./launch/local.sh merge --config.checkpoints=A/policy,B/policy --config.weights=.5,.5 --config.output=DIR

Seconds for nano policies, else as long as it takes to read the checkpoints twice (once to check them) and write one.
Expected result: the folder DIR, which everything that takes exported weights takes.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "checkpoints": (),  # folders of exported weights (supervised, policy, ...)
            "weights": (),  # one for each checkpoint, in their order; () for uniform
            "groups": {"vision": (), "experts": ()},  # weights of their own; () for those above
            "unrelated": False,  # merge also checkpoints that record no common ancestor
            "output": "",  # "" for merged in the run directory
            "seed": 0,
            "run": "",
        }
    )
