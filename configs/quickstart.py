"""An agent learns Maze: Path of Light in a real Chromium, from nothing, on two cores.

Command:  ./launch/local.sh quickstart --config.seed=SEED

Held-out success over 200 episodes of 2 to 5 moves (random levels that training never sees, at most 6 steps), before and
after PPO; the value model's explained variance of held-out returns after pretraining, and what a table over the
simulator's own distance and remaining steps explains of them. 95% intervals in brackets.

| seed | before | after | points         | value model | simulator | minutes |
|------|--------|-------|----------------|-------------|-----------|---------|
| 0    | 47.5%  | 73.0% | +25.5 [16, 34] | .18         | .36       | 33.8    |
| 1    | 38.5%  | 62.5% | +24.0 [14, 33] | .15         | .36       | 14.4    |
| 2    | 55.5%  | 75.0% | +19.5 [10, 28] | .22         | .43       | 9.6     |
| 3    | 47.0%  | 70.5% | +23.5 [14, 32] | .20         | .42       | 6.1     |
| 4    | 42.0%  | 70.5% | +28.5 [19, 37] | .18         | .39       | 5.3     |

The value model's 1,200 episodes were all played before its first update; since then they come in rounds of 600.
Demonstrators have had draws of their own since 2026-11-28; seed 0 then went from 50.5% to 73.5% (+23.0 [14, 32]) in 8.4
minutes.

Seed 4 had two cores to itself, and no compile cache: demonstrations 0:43, supervised training 0:54, both evaluations
0:19, episodes for the value model 0:42, its training 0:33, PPO 1:55. The others ran beside other work, the first three
beside much of it. The set-up takes another minute.

It was longer until 2026-11-27 (2,000 demonstrations; 300 updates of the value model on 1,600 episodes; 15 of PPO), for
gains of +33.5, +25.5 and +18.0 points of seeds 0 to 2, and of +29.0 for seed 3 in 6.4 minutes with little beside it.
Runs of one seed differ where rounding or the order of finished episodes does: seed 0 went from 43.5% to 77.0%, 46.5% to
74.0%, 74.5% and 76.5%. With 18 updates of PPO, and 400 of the value model on 2,000 episodes, from 41.0% to 73.0, 77.5
and 79.5%; with `--config.agent.constrained=True` from 41.0% to 77.0% (+36.0 [27, 44]) there, once.

What PPO changes: a demonstration follows its own plan in half of its moves and wanders in the others; in older runs
the supervised policy follows its plan in 71 to 75% of its moves, the trained one in 90 to 93%. What helped on the way
here, each seen once:

- Thoughts that name the way instead of the distance, together with Muon for supervised training: the value model
  explains .23 to .28 where it explained .14 to .18.
- Muon alone: after 600 updates the whole way of an unseen maze has a probability of .63, after 1,000 of AdamW .57.
- The loss on successful episodes (`positive_weight`) at .5 instead of .1, from one supervised start: 73.5% against
  71.0%.

What did not work: a policy learning rate of 5e-4 with small minibatches (success fell from .63 to .45 in nine updates),
value pretraining on 560 episodes (memorized), and windows of several steps from the start (the policy copies its
earlier thoughts instead of looking).
"""

import ml_collections

# Of the sections below those of every run that plays in sandboxes.
OF_RUNS = ("loggers", "model", "mesh", "agent", "browser", "sandbox", "fleet", "packing", "engine", "reward")


def places(pages: int, browsers: int = 1) -> dict[str, ml_collections.ConfigDict]:
    """Sections of an experiment that plays in sandboxes and is no run: its pages have sizes of their own."""
    usual = get_config()
    del usual.browser.size
    usual.browser.browsers, usual.browser.pages = browsers, pages
    return {"browser": usual.browser, "sandbox": usual.sandbox}


def get_config() -> ml_collections.ConfigDict:
    config = ml_collections.ConfigDict()
    config.seed = 0  # of weights, levels and sampling
    config.run = ""  # run directory; empty: a new one under runs/
    # A paper's values where no flag says otherwise: report, UI-TARS-2's (docs/rl.md); empty: ours.
    config.recipe = ""
    config.loggers = ()  # wandb, mlflow: metrics go there, too, offline in the run directory; extras of these names
    config.model = ml_collections.ConfigDict(
        {
            # nano: the preset from scratch; or a folder of exported weights to start from (RUN/policy, or of
            # import_weights).
            "preset": "nano",
            "shared_value": False,  # the value model is a head on the policy's trunk, not a model of its own
            "dtype": "",  # of activations and the cache: float32, bfloat16, or "" for the preset's
            # Same numbers, unless capacity is set, at other costs: tars_jax/model/execution.py says what each takes.
            "execution": {
                "remat": "none",  # what the backward pass computes again: nothing; or full, and what lies in between
                "attention": "auto",  # its backend
                "experts": "auto",  # their backend
                "products": "auto",  # of matrices: their backend
                "cache": "auto",  # how the engine keeps keys and values
                "expert_communication": "all_to_all",  # or weight_gather
                "capacity": 0.0,  # 0: no token is dropped
                "unroll": 1,  # layers in one turn of the loop over them
                "head_chunk": 64,  # tokens of a row whose logits the learner holds at a time
            },
        }
    )
    config.mesh = ml_collections.ConfigDict(
        {
            "data": 1,  # devices that each hold the weights and a part of the rows
            "fsdp": 1,  # devices that share the weights and the rows
            "expert": 1,  # that share the experts
            "tensor": 1,  # that share each layer
        }
    )
    config.task = ml_collections.ConfigDict(
        {
            "game": "maze_path_of_light",  # one whose levels have a distance
            "max_steps": 6,  # of an episode
            "evaluation_distances": (2, 5),  # moves from start to exit, on levels that training never sees
            "evaluation_episodes": 200,  # before PPO and after, on the same levels
        }
    )
    config.agent = ml_collections.ConfigDict(
        {
            "grammar": "text",  # of the answers
            "constrained": False,  # sample well-formed responses only; log-probabilities are then those among these
            "max_observation_tokens": 0,  # of an observation's text; 0: it is not shown
            "show_budget": True,  # the remaining steps stand in the prompt; off is the ablation
            # A window a step: at nano size attention over long rows costs more than reading the instruction again,
            # and a window with several steps teaches copying of earlier thoughts before seeing.
            "min_steps": 0,  # recent steps that stand in full in a new window
            "max_steps": 0,  # completed steps that a window holds in full beside the one under way
            "max_summaries": 0,  # older steps that stand there in a few words
            # The policy writes instead what a new window begins with, in as many tokens at most; 0: a rule does.
            "line_tokens": 0,
        }
    )
    config.browser = ml_collections.ConfigDict(
        {
            "browsers": 2,  # of this process, or of each host of the fleet
            "max_browsers": 0,  # further ones start while all are full and end when idle; 0: none
            "idle_browser_seconds": 30.0,  # after which pages and further browsers end that nobody asks for
            "pages": 8,  # that play at the same time, in all browsers
            "size": 96,  # pixels on a side of the screenshots
            "use_angle": "swiftshader",  # what draws WebGL, by software; with a GPU gl, gl-egl or vulkan
        }
    )
    # Where environments have their sandboxes, when it is not this machine.
    config.sandbox = ml_collections.ConfigDict(
        {
            "address": "",  # of a sandbox service, http://HOST:PORT: pages and computers are its
            "guests": (),  # HOST:PORT of bare guests (launch/windows_guest.md): computers are these, one episode each
            "phones": (),  # serials of devices and emulators that adb knows; none: stand-ins
            "key_file": "",  # a file that holds the key alone: an owner's with the service, or the guests' token
        }
    )
    # Episodes on hosts of a Ray cluster, each with the browsers and pages above, and the engine in an actor of its own
    # (the extra "ray"); `cpus` are what Ray reserves for each of these. 0 hosts: all in this process.
    config.fleet = ml_collections.ConfigDict(
        {
            "hosts": 0,
            "cpus": 0.5,
            "policy_gpus": 0.0,
            "address": "",  # of the cluster; empty: one of this machine
        }
    )
    config.packing = ml_collections.ConfigDict(
        {
            "row_length": 48,  # tokens that a row of the learner holds; 0: what windows take
            "images_per_row": 1,  # 0: what windows take
        }
    )
    config.engine = ml_collections.ConfigDict(
        {
            "max_length": 64,  # tokens of a context window; 0: what windows take
            "max_new_tokens": 24,  # of an answer; 0: of the longest of a demonstration
            "chunk": 8,  # decode steps between two looks at the queue
            "length_buckets": (32, 64),  # sizes to which what is read is padded
            "weights": "float",  # of the policy that samples; w4a8: int4, activations int8
            "record_routes": False,  # the experts of each token are kept with it
        }
    )
    config.demonstrations = ml_collections.ConfigDict(
        {
            "episodes": 1600,  # of the reference player
            "distances": (1, 5),  # moves from start to exit
            "skill": 0.5,  # the share of its moves that follow its plan
        }
    )
    config.supervised = ml_collections.ConfigDict(
        {
            "updates": 700,
            "batch_rows": 40,  # packed rows of an update
            "optimizer": "muon",  # or adamw
            "learning_rate": 2e-3,  # at its highest: it warms up and decays
            "weight_decay": 0.05,  # decoupled from the gradient
            "router_aux_loss_weight": 0.01,  # weight of the routers' load
            "save_every": 200,  # updates between two checkpoints
        }
    )
    config.value = ml_collections.ConfigDict(
        {
            # Of the fixed policy, from which it learns: at first, and again after each evaluation that another follows.
            "episodes": 600,
            "max_episodes": 1200,  # of all rounds
            "max_updates": 240,
            "batch_rows": 64,  # packed rows of an update
            "optimizer": "adamw",
            "learning_rate": 1e-3,
            "weight_decay": 0.5,
            "evaluate_every": 20,  # updates
            "patience": 6,  # evaluations without a better one, after which it ends
        }
    )
    config.ppo = ml_collections.ConfigDict(
        {
            "updates": 12,  # a finished run goes on when it is resumed with more
            "min_batch": 160,  # episodes
            "batch_steps": 0,  # of a batch at most: of longer episodes fewer are taken; 0: always min_batch
            "max_staleness": 1,  # updates that an episode may be behind when it starts
            "in_order": False,  # a batch takes the episodes that began first; else those that end first
            "learning_rate": 1.5e-4,  # of the policy
            "value_learning_rate": 5e-4,  # of the value model
            # Every switch of the algorithm: docs/rl.md says what each does, and where it is from.
            "advantages": "gae",  # or turn; or group: GRPO, without a value model, with a group_size of 2 or more
            "group_size": 1,  # episodes of one task
            "group_start": "reset",  # or fork: a group begins from copies of one session, where its environment can
            "group_std": True,  # a group's advantages are divided by its standard deviation
            "dynamic_sampling": False,  # groups whose members all did equally well are kept out of batches
            "normalize_advantages": True,  # to mean 0 and deviation 1; not those of groups
            "normalize_over": "batch",  # or part: each part of a mixture by itself
            "value_models": "shared",  # or part: each part of a mixture has its own
            "gamma": 1.0,  # discount of a token, of those that a constraint left a choice of
            "length_adaptive": True,  # the policy's lambda depends on the length of the episode, by alpha
            "alpha": 1.5,
            "lambda_policy": 0.95,  # without length_adaptive
            "lambda_critic": 1.0,  # of the value model's targets
            "aggregation": "token",  # or sequence
            "clip_low": 0.2,  # how far below 1 a token's ratio may go
            "clip_high": 0.28,  # how far above 1
            "dual_clip": 0.0,  # 0: off
            "value_clip": 0.0,  # 0: off
            "decoupled": True,  # the clipped ratio is to the weights before the update, not to those that sampled
            "max_importance": 2.0,  # with decoupled
            "kl_weight": 0.0,  # to the supervised policy
            "replay_routes": False,  # tokens go to the experts that sampled them; takes engine.record_routes
            "freeze_vision": False,  # the vision encoders stay as they are, and each screenshot is encoded once
            "epochs": 2,  # passes over the batch
            "minibatch_rows": 128,  # packed rows of a step of the optimizer
            "positive_weight": 0.5,  # VAPO's; what the policy sees and plans stays intact while its moves change
            "entropy_bonus": 0.0,  # weight of the policy's entropy
            "router_aux_loss_weight": 0.01,  # of the routers' load
            "value_weight": 0.5,  # with model.shared_value
        }
    )
    config.reward = ml_collections.ConfigDict(
        {
            "scale": 1.0,  # of the environment's rewards; the penalties are taken from what that makes of them
            "format_penalty": 0.1,  # for an answer that cannot be read
            "length_penalty": 0.1,  # for the longest answer; it begins at three quarters of engine.max_new_tokens
            "early_penalty": 0.0,  # for an end at once and without success; it shrinks until early_share
            "early_share": 0.5,  # of the steps that an episode may have
            "endless_penalty": 0.0,  # for an episode without success that its budget cut off
            "fewer_steps_reward": 0.0,  # for a success, times the share of its steps that it did not need
        }
    )
    config.curriculum = ml_collections.ConfigDict(
        {
            "stages": (3, 4, 5),  # the farthest exit of each stage, in moves
            "nearest": 2,  # the nearest one
            "promote_at": 0.75,  # success of the farthest, at which the next stage begins
            "recent": 256,  # episodes that this success is taken over
        }
    )
    return config
