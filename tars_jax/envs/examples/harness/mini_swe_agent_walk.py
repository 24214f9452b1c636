"""A walk to a place by commands of a shell, each an answer of `mini-swe-agent`: several turns, in plain text.

    TASK='{"seed": 7}' REWARD_FILE=reward .cache/harnesses/mini-swe-agent/bin/python mini_swe_agent_walk.py

`left`, `right`, `up` and `down` are programs on its PATH, which move a point on a board and print where the place is
from there. The framework's own loop, model (LiteLLM) and environment run them, by the settings in
mini_swe_agent_walk.yaml. It leaves out of its history an answer that holds no command, or several: what follows is a
new context. The reward is the share of the way that was gone.
"""

import json
import os
import random
import stat
import tempfile
from pathlib import Path

os.environ |= {
    "MSWEA_SILENT_STARTUP": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}  # it would look for prices on the web
os.environ.setdefault("MSWEA_GLOBAL_CONFIG_DIR", tempfile.mkdtemp())  # its home may be nobody's

from minisweagent.agents.default import DefaultAgent
from minisweagent.config import get_config_from_spec
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_textbased_model import LitellmTextbasedModel

SIZE = 4  # of the board
PROGRAM = """#!/bin/sh
read x y to_x to_y < {state}
case {name} in left) x=$((x - 1)) ;; right) x=$((x + 1)) ;; up) y=$((y - 1)) ;; down) y=$((y + 1)) ;; esac
[ $x -ge 0 ] && [ $x -lt {size} ] && [ $y -ge 0 ] && [ $y -lt {size} ] && echo $x $y $to_x $to_y > {state}
read x y to_x to_y < {state}
[ "$x $y" = "$to_x $to_y" ] && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && exit
[ $x -gt $to_x ] && echo left
[ $x -lt $to_x ] && echo right
[ $y -gt $to_y ] && echo up
[ $y -lt $to_y ] && echo down
true
"""
WORDS = ("left", "right", "up", "down")


def place_programs(folder: Path, start: tuple[int, int], goal: tuple[int, int]) -> None:
    """The four programs, and the file with where the point and the place are."""
    (folder / "state").write_text(" ".join(map(str, start + goal)) + "\n")
    for name in WORDS:
        program = folder / name
        program.write_text(PROGRAM.format(name=name, state=folder / "state", size=SIZE))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)


def distance(folder: Path) -> int:
    """Moves from the point to the place."""
    x, y, to_x, to_y = map(int, (folder / "state").read_text().split())
    return abs(x - to_x) + abs(y - to_y)


def main() -> None:
    """Plays one episode."""
    rng = random.Random(json.loads(os.environ["TASK"])["seed"])
    start, goal = (divmod(square, SIZE) for square in rng.sample(range(SIZE * SIZE), 2))
    settings = get_config_from_spec(str(Path(__file__).with_suffix(".yaml")))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place_programs(folder, start, goal)
        far = distance(folder)
        model = LitellmTextbasedModel(
            model_name=f"openai/{os.environ.get('OPENAI_MODEL', 'nano')}", **settings["model"]
        )
        path = {"PATH": f"{folder}:{os.environ['PATH']}"}
        agent = DefaultAgent(
            model, LocalEnvironment(cwd=name, env=path, **settings["environment"]), **settings["agent"]
        )
        (dx, dy) = (to - at for at, to in zip(start, goal, strict=True))
        words = [*["left"] * (dx < 0), *["right"] * (dx > 0), *["up"] * (dy < 0), *["down"] * (dy > 0)]
        agent.run("\n".join(words))
        left = distance(folder)
    reward = max(0.0, (far - left) / far)
    Path(os.environ["REWARD_FILE"]).write_text(json.dumps({"reward": reward, "success": left == 0}))


if __name__ == "__main__":
    main()
