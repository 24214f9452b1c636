"""One agent on any environment, from flags alone: demonstrations where it has a reference player, then PPO.

Command:  ./launch/local.sh train --config.environment=NAME [--config.environment_options=JSON] [--config.seed=SEED]

NAME is a game or a task of a benchmark (maze_path_of_light, miniwob/click-button, lmgame/sokoban), a whole benchmark
(games15, miniwob, lmgame), gymnasium:ID (the extra `gymnasium`), package.module:attribute of your own, an entry point
of the group tars_jax.environments, or several of these, separated by commas. Options are a JSON object, or a list of
objects, each of them a kind of task.

What a config leaves `auto` follows from a few episodes that chance and the reference player play first, and is printed
with its reason: thoughts, windows, budgets, learning rate (tars_jax/pipelines/defaults.py). Two stages need a reference
player and are left out where there is none: the policy then begins as it is (random, or the weights of `model.preset`),
and `agent.constrained` lets it sample nothing but calls that the environment has.

Expected result: RUN/policy, result.json with success and mean return on held-out tasks before and after, report.html.
Where rewards are dense, the verdict is of mean returns.
The first page's environment (a digit as text, one function), `python mine.py` as it stands there, from random weights:
success on 200 held-out episodes before and after, on two cores with some other work:

| seed | before | after | minutes |
|------|--------|-------|---------|
| 0    | 53.5%  | 100%  | 2.6     |
| 1    | 44.5%  | 100%  | 3.7     |
| 2    | 53.0%  | 100%  | 2.9     |
| 3    | 49.0%  | 99.5% | 2.5     |
| 4    | 48.5%  | 100%  | 2.4     |

That was before tokens that the constraint left no choice of were taken out of the learner's sums (docs/rl.md). Since
then seed 4 was played as far as update 13 of 36, much else running: of its training episodes 49, 46, 91 and 100%
succeeded in updates 1 to 4, and 100% in all after these.

In none of what stands here value pretraining went on sampling; now it does, by three rounds of episodes at most.

Before the learner scored under the constraint that the engine samples under, seeds 2 to 4 went to 100% as well; with 24
updates of minibatches of 64 rows, seeds 0 and 1 to 100%, 2 and 3 to 81.5 and 82.0%, 4 to 53.5%.

Three environments that are not pages (tars_jax/envs/examples), from random weights by PPO, three seeds each: success on
200 held-out episodes before and after, in 4 to 12 minutes on two cores with other work (20 and 26 beside much of it).

  text_echo:TextEcho, text alone          21.5, 14.5,  7.0%  to  100, 100, 99.5%   16 updates
  grid_gymnasium:Grid-v0, gymnasium       29.0, 29.0, 27.0%  to  100, 100, 100%    24 updates
  functions_vault:Vault, SDK functions    42.5, 38.5, 39.5%  to  99.5, 100, 100%     200 demonstrations, then 16 updates

All take --config.ppo.min_batch=192 --config.ppo.minibatch_rows=64 --config.ppo.learning_rate=1e-3
--config.value.episodes=100 --config.value.max_updates=20 --config.agent.list_actions=False --config.agent.thought=never
--config.browser.pages=16 and their own: --config.environment=tars_jax.envs.examples.text_echo:TextEcho
--config.demonstrations.episodes=0 --config.ppo.updates=16 --config.agent.max_observation_tokens=8
--config.engine.max_new_tokens=20; --config.environment=gymnasium:tars_jax.envs.examples.grid_gymnasium:Grid-v0
--config.environment_options='{"text": true, "render_mode": null, "action_names": ["up", "right", "down", "left"]}'
--config.demonstrations.episodes=0 --config.ppo.updates=24 --config.ppo.entropy_bonus=0.01
--config.agent.max_observation_tokens=12 --config.engine.max_new_tokens=24;
--config.environment=tars_jax.envs.examples.functions_vault:Vault --config.demonstrations.episodes=200
--config.demonstrations.skill=0.5 --config.supervised.updates=60 --config.ppo.updates=16
--config.agent.max_observation_tokens=12 --config.engine.max_new_tokens=24. Without demonstrations the vault stays at a
third: the policy opens a door unread.

A computer (a shell in a container of its own), by the function execute_bash: files are moved to folders that the
instruction names (move_file, three seeds), and files are looked for by what they say (find_word, one seed). Success on
200 held-out levels after demonstrations and after 16 updates, in 13 to 32 minutes on two cores that did much else:

  move_file, level 1    71.0, 76.5, 71.0%  to  99.5, 98.5, 98.5%
  find_word, level 1    53.0%              to  98.5%

--config.environment=computer --config.environment_options='{"task": "move_file", "level": 1}' --config.ppo.updates=16
--config.demonstrations.episodes=1000 --config.demonstrations.skill=0.5 --config.supervised.updates=300
--config.ppo.min_batch=192 --config.ppo.minibatch_rows=64 --config.ppo.learning_rate=1e-3 --config.value.episodes=100
--config.value.max_updates=20 --config.agent.list_actions=False --config.agent.thought=never --config.browser.pages=16
--config.agent.max_observation_tokens=24, and 32 of these for find_word.

Two tasks of MiniWoB++ in Chromium from random weights (--config.environment=miniwob/click-test,miniwob/focus-text), in
three updates of 32 episodes of at most three steps, on a machine that was busy with other things: 0 of 32 held-out
episodes before, 4 after (+12.5 points [-1, 28]), in 15 minutes. That shows the way, and no learning.
"""

import ml_collections
from ml_collections.config_dict import placeholder

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = ml_collections.ConfigDict()
    config.seed = 0  # of weights, tasks and sampling
    config.run = ""  # run directory; empty: a new one under runs/
    config.recipe = base.recipe
    config.environment = ""  # which one is to be learned, or which ones, separated by commas
    # Its options as JSON; a list is several kinds. Of several environments `environment` among options says whose.
    config.environment_options = "{}"
    for section in (*quickstart.OF_RUNS, "supervised", "value"):
        config[section] = base[section]
    # What an update's batch is mixed of: a weight for each environment, times each of its options, in their order;
    # empty: kinds of tasks are picked by how uncertain their outcome is.
    config.mixture = ml_collections.ConfigDict({"weights": ()})
    config.ppo = base.ppo
    config.task = ml_collections.ConfigDict(
        {
            "max_steps": placeholder(int),  # of an episode, where its environment does not say less
            "instruction": "",  # where the environment has none of its own
            "success_threshold": "",  # a return that is success; empty: as the environment says
            # What tells reward and success: orm (a reward model), package.module:attribute, or an entry point of the
            # group tars_jax.judges; empty: the environment, or the reference answer of its tasks.
            "judge": "",
            "judge_options": "{}",  # its options as JSON, such as {"checkpoint": "RUN/policy"} of orm
            "evaluation_episodes": placeholder(int),  # before PPO and after, on the same tasks
        }
    )
    config.demonstrations = ml_collections.ConfigDict(
        {
            "episodes": placeholder(int),  # 0: none are played
            "skill": 0.8,
            # Who shows: package.module:attribute, or an entry point of tars_jax.players; empty: the reference player.
            "player": "",
            # Recorded ones besides: RUN/trajectories/ppo, .jsonl, .parquet, package.module:attribute; see
            # tars_jax/data/datasets.py.
            "datasets": (),
        }
    )
    config.server = ml_collections.ConfigDict(
        {
            # Of a server that samples for this run; empty: the engine here does. With form=tars_jax one or more of ours
            # (`serve`), separated by commas.
            "address": "",
            "form": "sglang",  # or vllm: without screenshots; or tars_jax
            "model": "",  # its name there; vLLM takes one
            "api_key_file": "",  # a file that holds the key alone
            # Where servers find new weights, under the same path; empty: RUN/served, and to ours they go over HTTP.
            "weights_folder": "",
            "answer_seconds": 120.0,  # that it may take for one answer, or to load weights
            "patience": 3600.0,  # seconds that all may be away; then the run ends, to be resumed
        }
    )
    config.agent.grammar = placeholder(str)
    config.agent.show_budget = placeholder(bool)
    config.agent.max_steps = placeholder(int)
    config.agent.constrained = placeholder(bool)  # only calls that there are can be sampled
    config.agent.thought = placeholder(str)  # with constrained: optional, required or never
    config.agent.most_calls = 1  # with constrained: of one answer
    config.agent.list_actions = placeholder(bool)  # the prompt says what can be called
    config.agent.max_observation_tokens = placeholder(int)
    config.packing.row_length, config.packing.images_per_row = 0, 0  # what windows take
    config.engine.max_length, config.engine.length_buckets = 0, (64,)
    config.engine.max_new_tokens = placeholder(int)
    config.browser.pages = placeholder(int)
    config.supervised.updates = placeholder(int)
    config.value.episodes = placeholder(int)
    config.value.max_episodes = placeholder(int)
    config.value.evaluate_every, config.value.patience = 5, 4
    config.value.max_updates = placeholder(int)
    config.reward.scale = placeholder(float)
    config.ppo.in_order = True  # where length goes with success, those that end first are no fair sample
    config.ppo.updates = placeholder(int)
    config.ppo.gamma = placeholder(float)
    config.ppo.min_batch = placeholder(int)
    config.ppo.batch_steps = placeholder(int)
    config.ppo.epochs = placeholder(int)
    config.ppo.minibatch_rows = placeholder(int)
    config.ppo.learning_rate = placeholder(float)
    config.ppo.entropy_bonus = placeholder(float)
    return config
