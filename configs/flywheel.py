"""The data flywheel: each model makes the data of the next one (UI-TARS-2, 2.3).

Command:  ./launch/local.sh flywheel --config.cycles=3 [--config.seed=SEED]

Mazes of 1 to 4 moves in a real Chromium: a cold start of demonstrations that wander in half of their moves, then cycles
of rejection sampling on fresh mazes, routing by verdict, CT every second cycle, SFT, value pretraining and PPO.
Controls: --config.control=first_cycle (what later cycles generate is measured, and not trained on), and
--config.control=no_routing (everything into both sets, whatever its verdict).

What came of it so far, seed 0, on a machine with twenty other jobs, killed in cycle 2 after 46 minutes, and before CT
had text and RL's episodes were routed; neither a control nor another seed was run (configs/flywheel_text.py has them in
minutes, without Chromium):

| cycle | share of V = 1 of what its model generated | held out, after SFT | after RL |
|-------|--------------------------------------------|---------------------|----------|
| 0     | (the demonstrations: 63.3% of 300)         | 52.5% of 80         |          |
| 1     | 51.6% [45, 59] of 192                      | 55.0%               | 58.8%    |
| 2     | 66.1% [59, 72] of 192                      |                     |          |

+14.6 points [5, 24] of V = 1 from cycle 1 to 2. Held-out success, +6.2 points [-9, 21], does not show by 80 tasks.

Expected result: RUN/report.html with the share of V = 1 by cycle, the sizes of the data sets, scores by stage and the
lineage of models; RUN/store, which `store` lists, samples and exports; RUN/cycles/N/model.
"""

import ml_collections

from configs import quickstart, train


def get_config() -> ml_collections.ConfigDict:
    base = train.get_config()
    config = ml_collections.ConfigDict()
    config.seed = 0  # of weights, tasks and sampling
    config.run = ""  # run directory; empty: a new one under runs/
    config.recipe = base.recipe
    config.cycles = 3  # after the cold start; 0: that alone; a finished run goes on when it is resumed with more
    config.control = "none"  # first_cycle: data of the cold start and cycle 1 alone; no_routing: all into both sets
    config.environment = "maze_path_of_light"  # which one is to be learned, or which ones, separated by commas
    # Its options as JSON; a list is several kinds of tasks.
    config.environment_options = (
        '[{"distance": [1, 1]}, {"distance": [2, 2]}, {"distance": [3, 3]}, {"distance": [4, 4]}]'
    )
    # Where tasks come from: empty, of `environment`; or a .jsonl file of synthesized ones, of questions (environment
    # browsing) or of websites (website_app); or package.module:attribute.
    config.tasks = ""
    config.solution_steps = 0  # tasks of websites whose recorded solution takes more are left out; 0: none
    # What a batch of PPO is mixed of: a weight for each environment, times each of its options; of a file of tasks for
    # each website or environment that it trains on, by their names in order. Empty: as they come.
    config.mixture = base.mixture
    for section in (*quickstart.OF_RUNS, "task"):
        config[section] = base[section]
    config.agent.grammar, config.agent.show_budget, config.agent.max_steps = "text", True, 0
    config.agent.constrained = False
    config.agent.thought = "optional"
    config.agent.list_actions = False
    config.agent.max_observation_tokens = 0
    config.engine.max_new_tokens = 24
    config.browser.pages = 8
    config.task.max_steps = 5
    config.task.evaluation_episodes = 80  # held out: the same after each stage of each cycle
    config.demonstrations = base.demonstrations  # of the cold start
    config.demonstrations.episodes = 300
    config.demonstrations.skill = 0.5
    # Episodes that people have corrected or judged, by name as `demonstrations.datasets`. A name with {cycle} in it is
    # taken in by the cycle of that number, once it is there; others by the cold start.
    config.annotation = ml_collections.ConfigDict({"datasets": ()})
    # Text-only data of any domain, by name as `demonstrations.datasets`: CT's base, to which the agent's V = 0 comes.
    config.text = ml_collections.ConfigDict(
        {
            "datasets": ("tars_jax.data.tutorials:tutorials", "tars_jax.data.texts:sums"),
            "ct_weight": 0.75,  # its share of the tokens that CT learns from, where there is any: most of them
            "sft_weight": 0.1,  # of those that SFT learns from
        }
    )
    # Of what PPO plays in a cycle, and of what value pretraining does, so many episodes enter the store, each; the
    # next cycle routes them as what was generated. What is left out is counted.
    config.recycle = ml_collections.ConfigDict({"episodes": 256})
    config.sampling = ml_collections.ConfigDict(
        {
            "tasks": 96,  # fresh ones of each cycle
            "samples": 2,  # attempts at each task
            "at_most": 2,  # solutions imitated of each task: verified, well-formed, with different actions
            "prefer": "shortest",  # or first, as they were sampled
        }
    )
    # How training reads its sets: as they lie in the store; or array_record, from a file of each, by grain (the extra).
    config.reader = "store"
    stage = quickstart.get_config().supervised
    stage.episodes = 0  # drawn for one training; 0: as many as the set holds, and text beside them
    config.ct = stage.copy_and_resolve_references()
    config.ct.every = 2  # cycles; 0: never
    config.ct.updates = 60
    config.sft = stage.copy_and_resolve_references()
    config.sft.updates = 150
    config.value = base.value
    config.value.episodes = 160
    config.value.max_episodes = 480
    config.value.max_updates = 60
    config.ppo = base.ppo
    config.reward.scale, config.ppo.gamma, config.ppo.batch_steps = 1.0, 1.0, 0
    config.ppo.updates = 4  # of each cycle; 0: no RL
    config.ppo.min_batch = 96
    config.ppo.epochs = 2
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 1.5e-4
    config.ppo.entropy_bonus = 0.0
    config.evaluate_ct = True  # play the held-out tasks after CT, too
    config.keep = ml_collections.ConfigDict(
        {
            # Which model goes on: latest; better, the new one or the one before, by tasks that are held out besides; or
            # merged, their merge being the third.
            "by": "latest",
            "episodes": 40,  # of these tasks
            "weight": 0.5,  # of the new one in the merge
        }
    )
    return config
