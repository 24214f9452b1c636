"""Records what gymnasium-2048 0.1.2 and tile-match-gym 1.0.6 do, into lmgame.json beside this file.

In an environment of their own (tile-match-gym pins an old numba that it does not use):
    pip install --no-deps gymnasium-2048==0.1.2 tile-match-gym==1.0.6
    pip install gymnasium==1.3.0 pygame==2.6.1 numba
    python tests/tasks/goldens/make_lmgame.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium_2048.envs import TwentyFortyEightEnv
from tile_match_gym.tile_match_env import TileMatchEnv


def slides(count: int) -> list[dict[str, Any]]:
    """Boards and what a slide in each direction makes of them, before a tile spawns."""
    rng, records = np.random.default_rng(0), []
    for number in range(count):
        board = rng.choice(5 if number % 2 else 12, (4, 4)) * (rng.random((4, 4)) < 0.8)
        after = {}
        for action, name in enumerate(("up", "right", "down", "left")):
            moved, gained, legal = TwentyFortyEightEnv.apply_action(board, action)
            after[name] = [np.where(moved > 0, 2**moved, 0).tolist(), int(gained), bool(legal)]
        over = TwentyFortyEightEnv.is_terminated(board)
        records.append({"tiles": np.where(board > 0, 2**board, 0).tolist(), "after": after, "over": bool(over)})
    return records


def swaps(seed: int) -> dict[str, Any]:
    """An episode as LMGame-Bench sets it up: boards as 64 digits, swaps as [row, column] pairs, candies cleared."""
    env = TileMatchEnv(8, 8, 4, 50, [], [], seed=seed, render_mode="rgb_array")
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)

    def digits() -> str:
        return "".join(map(str, observation["board"][0].ravel()))

    record: dict[str, Any] = {"seed": seed, "boards": [digits()], "swaps": [], "cleared": [], "effective": []}
    for _ in range(50):
        record["effective"].append(len(info["effective_actions"]))
        any_action = rng.random() < 0.2
        action = int(rng.integers(env.num_actions) if any_action else rng.choice(info["effective_actions"]))
        observation, cleared, _, _, info = env.step(action)
        assert not info["shuffled"], "numpy's shuffle is not the page's"
        record["swaps"].append([[int(number) for number in place] for place in env.board.action_to_coords[action]])
        record["cleared"].append(int(cleared))
        record["boards"].append(digits())
    return record


if __name__ == "__main__":
    golden = {"2048": slides(40), "candy_crush": swaps(42)}
    text = json.dumps(golden, separators=(",", ":")).replace('{"', '\n{"')
    Path(__file__).with_name("lmgame.json").write_text(f"{text.lstrip()}\n")
