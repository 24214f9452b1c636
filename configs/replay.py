"""Half of a recorded run again, from a run directory or a published archive; a fraction of the run's time.

Commands:  ./launch/local.sh replay RUN --config.mode=train
           ./launch/local.sh replay RUN --config.mode=rollout

Expected result: `train` says for every update that its weights are the recorded ones, bit for bit, or where the first
difference is (exit code 1); `rollout` says how many episodes are identical, token by token.
"""

from ml_collections import ConfigDict

from configs import quickstart


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "source": "",  # a run directory, or an archive
            "mode": "train",  # the learner from recorded episodes; rollout: engine and browser from recorded weights
            "updates": 0,  # train: the first so many; 0 for all
            "stage": "after",  # rollout: the evaluation before or after PPO
            "episodes": 0,  # rollout: the first so many; 0 for all
            "sandbox": quickstart.get_config().sandbox,  # of here: the recorded run's are not asked
            "seed": 0,
            "run": "",
        }
    )
