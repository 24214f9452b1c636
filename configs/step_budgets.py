"""Score against step budget, each budget played anew, by several contestants (UI-TARS-2, figure 11).

Commands:
  ./launch/local.sh step_budgets --config.contestants=RUN/policy,reference,person,random
  ./launch/local.sh step_budgets --config.suite=environment --config.environment=computer
      --config.environment_options='{"level": 2}' --config.budgets=1,2,3,4,6
      --config.contestants=RUN/policy,reference,random
"""

from ml_collections import ConfigDict

from configs import evaluate


def get_config() -> ConfigDict:
    base = evaluate.get_config()
    config = ConfigDict()
    config.suite = "games15"  # games15, miniwob, lmgame, or environment for config.environment
    config.names = ()  # some of the suite's tasks; (): all
    config.environment = "computer"  # any name that `train` takes, where the suite is environment
    config.environment_options = "{}"  # JSON, or a list of them, each a kind of task
    config.budgets = (10, 25, 50, 100)  # steps of an episode
    # Folders of exported weights, addresses, "reference", "person" (of games alone), "random".
    config.contestants = ("reference", "person", "random")
    config.called = ()  # what they are called in the figure; (): the last part of each
    for name in ("model", "api_key_file", "answer_seconds", "patience", "guide", "tools", "safety_checks"):
        config[name] = base[name]
    for name in ("next_levels", "levels", "screen"):
        config[name] = base[name]
    config.episodes = 0  # of each game or kind of task; 0: LMGame-Bench's 3 runs, else 6
    config.seed = 0
    config.run = ""
    for section in ("mesh", "browser", "sandbox", "agent", "engine"):
        config[section] = base[section]
    return config
