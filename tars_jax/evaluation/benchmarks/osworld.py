"""Results as OSWorld's own runner leaves them, so that its show_result.py reads them.

    RUN/benchmark/results/ACTION_SPACE/OBSERVATION/MODEL/
      args.json
      DOMAIN/ID/result.txt   the score
                traj.jsonl   an action a line
                step_0.png   the first screen; step_N.png: the screen after step N

A lost episode has a folder without result.txt, which is neither counted nor taken for played. Further attempts lie in
results_2 and so on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.agent.grammar_text import parse_text
from tars_jax.agent.pyautogui_lines import pyautogui_line
from tars_jax.agent.response import ParseError
from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic

ACTION_SPACES = {"gui": "pyautogui", "sdk": "functions", "both": "pyautogui_functions"}
OBSERVATIONS = {"gui": "screenshot", "sdk": "text", "both": "screenshot_text"}
SIZE = (1920, 1080)
OWN = ("tasks", "servers", "revert")  # options that say where things are, and with which token


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """A folder for each attempt, by number."""
    interface = str(about.options.get("interface") or "gui")
    model = re.sub(r"[^A-Za-z0-9._-]+", "_", about.agent).strip("._") or "policy"
    written: dict[int, Path] = {}
    for each in played:
        top = folder / ("results" if each.attempt == 0 else f"results_{each.attempt + 1}")
        of_model = top / ACTION_SPACES[interface] / OBSERVATIONS[interface] / model
        if each.attempt not in written:
            written[each.attempt] = top
            _write(of_model / "args.json", json.dumps(_args(about, model, interface, top), indent=4))
        write_episode(of_model / each.task.group / str(each.task.record["id"]), each, about.options)
    return [path for _, path in sorted(written.items())]


def _args(about: BenchmarkRun, model: str, interface: str, top: Path) -> dict[str, Any]:
    return {
        "action_space": ACTION_SPACES[interface], "observation_type": OBSERVATIONS[interface], "model": model,
        "max_steps": about.options.get("max_steps", about.benchmark.max_steps), "result_dir": str(top),
        "test_all_meta_path": str(about.tasks), "provider_name": "tars_jax", "version": about.benchmark.version,
        "options": {name: value for name, value in about.options.items() if name not in OWN}, "seed": about.seed,
    }  # fmt: skip


def write_episode(folder: Path, each: Attempt, options: Mapping[str, Any]) -> None:
    """Writes an episode's actions, screens and, where it counts, its score; `options` may have the `size` of the
    screen."""
    trajectory = each.trajectory
    width, height = options.get("size") or SIZE
    final = (trajectory.metadata.get("final") or {}).get("benchmark") or {}
    last = str((final.get("details") or {}).get("last", ""))
    screens = [step.screenshot for step in trajectory.steps] + [trajectory.final_screenshot]
    lines = []
    for number, step in enumerate(trajectory.steps, 1):
        ended = number == len(trajectory.steps)
        actions = pyautogui_of(step.action, width, height, last if ended else "")
        for place, action in enumerate(actions, 1):
            whole = place == len(actions)
            line: dict[str, Any] = {
                "step_num": number, "action_timestamp": "", "action": action, "response": step.response,
                "reward": float(trajectory.reward) if ended and whole and each.counts else 0.0,
                "done": ended and whole and action in ("DONE", "FAIL"), "info": {},
            }  # fmt: skip
            if whole and screens[number]:
                line["screenshot_file"] = f"step_{number}.png"
            lines.append(json.dumps(line, ensure_ascii=False))
    if not each.counts:
        lines.append(json.dumps({"Error": each.loss}, ensure_ascii=False))
    for number, screen in enumerate(screens):
        if screen:
            _write(folder / f"step_{number}.png", screen)
    _write(folder / "traj.jsonl", "".join(f"{line}\n" for line in lines))
    if each.counts:
        _write(folder / "result.txt", f"{float(trajectory.reward)}\n")


def _write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data.encode() if isinstance(data, str) else data)


def pyautogui_of(written: str, width: int, height: int, last: str = "") -> list[str]:
    """The actions of a step as the trajectory has them written, on a screen of so many pixels; what is none of ours as
    it is.

    `last`: how the agent ended the episode with it, DONE or FAIL.
    """
    parsed = parse_text(f"Action: {written}")
    if not written or isinstance(parsed, ParseError):
        return [written] if written else []
    return [pyautogui_line(action, width, height, last) for action in parsed.actions]
