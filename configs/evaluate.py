"""A benchmark suite, played by any policy.

Commands:
  ./launch/local.sh evaluate --config.suite=games15 --config.checkpoint=RUN/policy
  ./launch/local.sh evaluate --config.suite=miniwob --config.checkpoint=http://127.0.0.1:8000
  ./launch/local.sh evaluate --config.suite=lmgame --config.checkpoint=https://somewhere/v1 --config.model=NAME
  ./launch/local.sh evaluate --config.checkpoint=https://somewhere/v1 --config.model=NAME --config.tools=native
  ./launch/local.sh evaluate --config.suite=games15 --config.checkpoint=random

Benchmarks of others, from their own files (docs/benchmarks.md), write their own result files, too.

Expected result: the tables of the UI-TARS-2 report for our episodes, with its own rows beside ours and marked as such,
and the score against the step budget: RUN/report.md, RUN/budget.svg, RUN/result.json. A run that was killed plays only
what it lacks: --config.run=RUN. One that lost every episode to the infrastructure has measured nothing and exits 1.

Whole suites, on two cores with another job on one of them, 95% intervals in brackets:

  --config.suite=miniwob --config.checkpoint=random --config.episodes=8 --config.max_steps=10 --config.seed=1
      133 tasks, 4.7% [4, 6] of 1,064 episodes succeed, none lost to the infrastructure, 6 minutes
  --config.suite=lmgame --config.max_steps=60, six episodes of each, played by random and by reference
      2048 82.6 [80.9, 84.4] (raw 309) and 89.1 [88.6, 89.6] (raw 482); Candy Crush 18.3 [7.0, 32.5] and
      670 [620, 723]; Sokoban 0 [0, 0] and 8 [8, 8]; Tetris 6.3 [4.5, 8.8] and 51.3 [43.3, 58.2]
"""

from ml_collections import ConfigDict

from configs import quickstart


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            # games15, miniwob or lmgame; or a benchmark of others, whose files `tasks` names (docs/benchmarks.md).
            "suite": "games15",
            "tasks": "",  # where a benchmark's own files are: a checkout, a folder or a file, as it publishes them
            # Some of the suite's tasks, as `python -m tars_jax.envs` lists them, and folders of games; of a benchmark
            # the ids of some; (): all.
            "names": (),
            # What plays: a folder of exported weights, the address of our server or of an OpenAI-compatible endpoint,
            # "reference" (scripted players of our games), "person" (the same at a person's pace, with errors), or
            # "random".
            "checkpoint": "reference",
            "model": "",  # the model's name at an endpoint that is not ours
            "api_key_file": "",  # a file that holds the key alone
            "answer_seconds": 120.0,  # that such a policy may take for one answer
            "patience": 3600.0,  # seconds that a policy behind an address may be away; then the run ends, to be resumed
            "guide": True,  # a policy behind an address is told how to act; one of our server may know already
            # It writes in the grammar of `agent` (text), calls tools as chat completions have them (native), or acts by
            # OpenAI's computer tool as responses have it (computer, or computer_use_preview).
            "tools": "text",
            # Where such an endpoint wants a person to look at a call: end the episode, or acknowledge it unseen.
            "safety_checks": "end",
            "next_levels": True,  # in games15 the next level follows a solved one; False: an episode is one level
            "attempts": 0,  # at each task of a benchmark; 0: as many as its leaderboard counts
            "time_limit": 0.0,  # seconds of an episode of a benchmark; 0: as it says
            "interface": "",  # to a benchmark's tasks: gui, sdk or both; empty: as its environment has it
            "environment_options": "{}",  # further options of a benchmark's environment, as JSON
            "judge": "",  # of a benchmark's episodes, with options as JSON; empty: its own
            "judge_options": "{}",
            "levels": (1,),  # of games that have levels, where an episode begins; they take turns
            # Of LMGame-Bench, text beside the screenshots: none; text, the board and the last ten moves as we write
            # them down; gamingagent, the benchmark's own modules, which need its package.
            "lmgame_harness": "none",
            "sokoban_levels": "",  # LMGame-Bench's levels.txt, to play its levels of Sokoban instead of ours
            # A file of Super Mario Bros. that you own (.nes), to play it, too; takes the extra `retro`.
            "super_mario_bros_rom": "",
            # The same of Ace Attorney (.gba), and where a checkout of lmgame-org/GamingAgent lies, whose saved states
            # and lines it takes.
            "ace_attorney_rom": "",
            "gaming_agent": "",
            "episodes": 0,  # of each game or task; 0: LMGame-Bench's 3 runs, else 6
            "max_steps": 0,  # step budget of an episode; 0: a hundred in games15, else each game's or task's own
            "screen": 0,  # pixels on a side of a game; 0: as the checkpoint's run says, else 320
            "seed": 0,
            "run": "",
            "mesh": {"data": 1, "fsdp": 1, "expert": 1, "tensor": 1},
            **quickstart.places(pages=4, browsers=2),
            "agent": {  # where no run of a checkpoint and no server of ours says it
                "grammar": "text",
                "coordinates": "grid",  # 0..1000; or pixels of the image as Qwen2.5-VL resizes it: UI-TARS-1.5, for one
                "show_budget": True,
                "max_observation_tokens": 2048,  # of an observation's text; 0: it is not shown
                "min_steps": 1,
                "max_steps": 4,
                "max_summaries": 8,
            },
            "engine": {
                "max_length": 0,  # 0: what windows take, with length_buckets
                "max_new_tokens": 0,  # of an answer; 0: as the checkpoint's run says, else 48
                "chunk": 8,
                "length_buckets": (64, 256),
                "weights": "float",
            },
        }
    )
