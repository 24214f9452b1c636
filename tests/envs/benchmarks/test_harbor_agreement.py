"""Our own play of Harbor's task folders gives the rewards that Harbor's own command gives, over the same computers.

python -m pytest tests/envs/benchmarks/test_harbor_agreement.py -s     # prints both
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.terminal_bench import TerminalBenchEnvironment
from tests.envs.benchmarks.harbor_folders import by_oracle, play
from tests.sandbox.compat.harbor_command import TASKS, make_task, needs_harbor, run
from tests.sandbox.computer.containers import needs_root

pytestmark = [pytest.mark.multiprocess, needs_harbor, needs_root]
# Solutions that get a part of what there is, or nothing, of tasks that come with a whole one.
PARTS = {
    "sum_of_columns": ("solution", """echo '{"apples": 20, "pears": 1}' > sums.json"""),
    "two_steps": ("steps/second/solution", "seq 4 > /app/box/numbers"),
    "last_step_counts": ("steps/end/solution", "true"),
    "judged_elsewhere": ("solution", "echo plum > poem.txt"),
    "closed_network": ("solution", "echo open > answer"),
}
# What test.sh does, where rewards differ, are none, or are wrong.
VERIFIERS = {
    "several": """echo '{"reward": 0.25, "speed": 3}' > /logs/verifier/reward.json""",
    "without_reward": """echo '{"speed": 3, "length": 1.5}' > /logs/verifier/reward.json""",
    "beyond_one": "echo 2.5 > /logs/verifier/reward.txt",
    "negative": "echo -1 > /logs/verifier/reward.txt",
    "spaces": "printf '  0.5\\n\\n' > /logs/verifier/reward.txt",
    "both": """echo '{"reward": 0}' > /logs/verifier/reward.json; echo 1 > /logs/verifier/reward.txt""",
    "failing": "echo 1 > /logs/verifier/reward.txt; exit 7",
    "background": "(sleep 100 &) ; echo 1 > /logs/verifier/reward.txt",
    "none": "true",
    "empty": ": > /logs/verifier/reward.txt",
    "infinite": "echo inf > /logs/verifier/reward.txt",
    "words": "echo good > /logs/verifier/reward.txt",
    "wrong_json": "echo '{' > /logs/verifier/reward.json",
    "text_in_json": """echo '{"reward": "1"}' > /logs/verifier/reward.json""",
    "no_parts": "echo '{}' > /logs/verifier/reward.json",
    "link": "ln -s /etc/hostname /logs/verifier/reward.txt",
}


SOME = ("judged_elsewhere", "part_of_two_steps", "part_of_sum_of_columns", "several", "spaces", "infinite", "link")
ALL = (*(path.name for path in TASKS.iterdir()), *(f"part_of_{name}" for name in PARTS), *VERIFIERS)


def put(name: str, folder: Path) -> None:
    """A task, by its name above."""
    if name in VERIFIERS:
        make_task(folder / name, tests=[VERIFIERS[name]], environment='network_mode = "no-network"\n')
        return
    shutil.copytree(TASKS / name.removeprefix("part_of_"), folder / name)
    if name.startswith("part_of_"):
        place, solution = PARTS[name.removeprefix("part_of_")]
        (folder / name / place / "solve.sh").write_text(f"#!/bin/bash\n{solution}\n")


def ours(tasks: Path, names: Sequence[str]) -> dict[str, Mapping[str, float]]:
    async def rewards(environment: TerminalBenchEnvironment) -> Mapping[str, float]:
        try:
            ended = await by_oracle(environment)
        except EnvironmentFailure:
            return {}
        return ended.observation.info["benchmark"]["details"]["rewards"]

    found = play(tasks, rewards, names=names)
    return dict(zip(names, found if len(names) > 1 else [found], strict=True))


@pytest.mark.parametrize("names", [SOME, pytest.param(ALL, marks=pytest.mark.full)], ids=["some", "all"])
def test_rewards_are_those_of_harbors_own_command(tmp_path: Path, names: Sequence[str]) -> None:
    tasks = tmp_path / "tasks"
    for name in names:
        put(name, tasks)
    theirs = {name: trial.rewards for name, trial in run(tasks, tmp_path, "oracle").items()}
    mine = ours(tasks, sorted(theirs))
    for name in sorted(theirs):
        print(f"{name:32} harbor {theirs[name]} ours {mine[name]}")
    assert mine == theirs and theirs.keys() == {*names}
    assert theirs["part_of_sum_of_columns"] == {"reward": 0.5} and theirs["part_of_two_steps"] == {"reward": 0.5}


@pytest.mark.full
def test_a_step_whose_tests_gave_no_reward_is_left_out_there_and_lost_here(tmp_path: Path) -> None:
    """Harbor takes the mean of the other steps; ours is no reward at all, and the episode is played again."""
    put("two_steps", tmp_path / "tasks")
    (tmp_path / "tasks/two_steps/steps/second/tests/test.sh").write_text("#!/bin/bash\ntrue\n")
    theirs = run(tmp_path / "tasks", tmp_path, "oracle")["two_steps"]
    assert theirs.rewards == {"reward": 1.0} and ours(tmp_path / "tasks", ["two_steps"]) == {"two_steps": {}}
