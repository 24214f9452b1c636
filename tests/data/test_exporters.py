"""Trajectories as other trainers take them, read back by what reads such files."""

import base64
import collections
import dataclasses
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.data.agentnet_folder import write_agentnet
from tars_jax.data.datasets import read_dataset
from tars_jax.data.exporters import trajectory_files, write_jsonl, write_parquet
from tars_jax.data.retokenized import EpisodeReader, retokenize
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tars_jax.trajectory.context import CONTEXT_STEPS
from tars_jax.trajectory.files import load_trajectory, save_trajectory
from tars_jax.trajectory.folders import mark_evaluation


def picture(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def episode(name: str, reward: float, shades: tuple[int, ...], outcome: Outcome = Outcome.FINISHED) -> Trajectory:
    answer = f"Thought: {name} \ud83d\nAction: wait()"  # half a surrogate pair
    steps = tuple(
        Step(picture(shade), answer, name, "wait()", None, 0.0, 1, True, {}, "ready" * (shade == 3)) for shade in shades
    )
    count = len(shades)
    window = ContextWindow(
        np.arange(1, count + 2, dtype=np.int32),
        np.arange(count + 1) > 0,
        np.where(np.arange(count + 1) > 0, -0.5, 0).astype(np.float32),
        np.where(np.arange(count + 1) > 0, 0, -1).astype(np.int32),
        np.arange(-1, count, dtype=np.int32),
        tuple(range(count)),
    )
    task = {"environment": "maze_path_of_light", "options": {}, "seed": 1, "max_steps": 4}
    return Trajectory(name, task, (window,), steps, outcome, reward, success=bool(reward))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three episodes in two stages, one of which failed."""
    given = {
        "attempts/0": episode("lost", 0.0, (1, 2)),
        "ppo/0": episode("won", 1.0, (1, 1, 3)),
        "ppo/1": episode("broken", 0.0, (4,), Outcome.FAILED),
    }
    for name, trajectory in given.items():
        file = tmp_path / "played" / "trajectories" / f"{name}.trajectory"
        file.parent.mkdir(parents=True, exist_ok=True)
        save_trajectory(file, trajectory)
    return tmp_path / "played"


def export(run: Path, *flags: str) -> Path:
    folder = run.parent / "exported"
    assert (
        main(["export_trajectories", str(run), f"--config.output={folder}", f"--config.run={run.parent}/e", *flags])
        == 0
    )
    return folder


def test_conversations_with_pictures_as_files(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = export(run)
    assert "2 of 3 episodes" in capsys.readouterr().out
    lost, won = (json.loads(line) for line in (folder / "messages.jsonl").read_text().splitlines())
    assert [each["role"] for each in won["messages"]] == ["user", "assistant"] * 3
    first, second = won["messages"][0]["content"], won["messages"][2]["content"]
    assert [part["type"] for part in first] == ["text", "image"] and [part["type"] for part in second] == ["image"]
    assert "exit" in first[0]["text"]  # the instruction of the game
    assert [part["type"] for part in won["messages"][4]["content"]] == ["text", "image"]  # what the environment said
    assert won["messages"][1]["content"] == [{"type": "text", "text": "Thought: won ?\nAction: wait()"}]
    assert first[1] == second[0]  # the same picture, once
    assert (folder / first[1]["image"]).read_bytes() == picture(1)
    assert len(list((folder / "images").iterdir())) == 3  # of 1, 2 and 3
    assert (won["success"], won["reward"], won["outcome"], lost["success"]) == (True, 1.0, "finished", False)
    assert won["actions"] == ["wait()"] * 3 and won["task"]["environment"] == "maze_path_of_light"


def test_a_picture_that_a_killed_export_has_torn_is_written_anew(run: Path) -> None:
    folder = export(run)
    kept, torn, _ = sorted((folder / "images").iterdir())
    whole, before = torn.read_bytes(), kept.stat()
    torn.write_bytes(whole[:10])
    (folder / "messages.jsonl").unlink()
    export(run)
    assert torn.read_bytes() == whole
    assert kept.stat().st_ino == before.st_ino and kept.stat().st_mtime_ns == before.st_mtime_ns
    assert len(list((folder / "images").iterdir())) == 3 and (folder / "messages.jsonl").is_file()


def test_only_episodes_of_a_verdict_and_pictures_within_the_lines(run: Path) -> None:
    folder = export(run, "--config.verdict=solved", "--config.style=openai")
    (won,) = (json.loads(line) for line in (folder / "messages.jsonl").read_text().splitlines())
    url = won["messages"][0]["content"][1]["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == picture(1)
    assert not (folder / "images").exists()


def test_parquet_holds_the_same(run: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(export(run, "--config.format=parquet") / "trajectories.parquet").to_pylist()
    lost, won = rows
    parts = [part for message in won["messages"] for part in message["content"]]
    assert [part["type"] for part in parts].count("image") == len(won["images"]) == 3
    assert [image["bytes"] for image in won["images"]] == [picture(1), picture(1), picture(3)]
    assert won["messages"][1]["content"][0]["text"].startswith("Thought: won")
    assert (won["success"], lost["success"]) == (True, False) and json.loads(won["task"])["seed"] == 1


@pytest.mark.parametrize(
    "flags",
    [["style=qwen"], ["style=openai"], ["format=parquet"], ["format=agentnet"], ["format=atif"]],
    ids=lambda flags: flags[0],
)
def test_what_was_context_is_not_learned_from_after_a_round_trip(run: Path, flags: list[str]) -> None:
    if "parquet" in flags[0]:
        pytest.importorskip("pyarrow.parquet")
    won = episode("won", 1.0, (1, 2, 3))
    steps = tuple(dataclasses.replace(step, text="") for step in won.steps)  # AgentNet's form has no texts
    marked = dataclasses.replace(won, steps=steps, metadata={CONTEXT_STEPS: [0, 2]})
    save_trajectory(run / "trajectories" / "ppo" / "0.trajectory", marked)
    folder = export(run / "trajectories" / "ppo", *(f"--config.{flag}" for flag in flags))
    if flags == ["style=openai"]:
        [line] = (folder / "messages.jsonl").read_text().splitlines()
        answers = json.loads(line)["messages"][1::2]
        assert [answer.get("weight") for answer in answers] == [0, None, 0]
    [read] = read_dataset(str(folder))
    assert read.metadata[CONTEXT_STEPS] == [0, 2] and len(read.steps) == 3
    tokens = load_tokenizer()
    writer = PromptWriter(tokens, image_tokens=1, max_observation_tokens=64)
    reader = EpisodeReader(
        writer, AgentConfig(), tokens.image, tokens.vocabulary, lambda height, width: (height, width)
    )
    again = retokenize(read, "Wait.", reader)
    learned = collections.Counter(int(step) for window in again.windows for step in window.steps[window.action_mask])
    assert learned[0] == 0 and learned[1] > 1 and learned[2] == 1  # the token that ends it carries the outcome


@pytest.mark.parametrize("given", ["1", [3], [-1], [True], [0.0], {}])
def test_context_that_is_no_step_is_refused_by_line_and_field(run: Path, given: object) -> None:
    solved = run / "trajectories" / "ppo" / "0.trajectory"
    write_jsonl(run / "messages", [load_trajectory(solved)])
    write_agentnet(run / "agentnet", [load_trajectory(solved)])
    for name in ("messages", "agentnet"):
        file = run / name / f"{name}.jsonl"
        file.write_text(json.dumps({**json.loads(file.read_text()), CONTEXT_STEPS: given}))
        with pytest.raises(InputError, match="jsonl:1: field context_steps must be numbers of steps, 0 to 2; got"):
            list(read_dataset(str(file)))


def test_steps_that_others_left_out_of_a_record_move_what_was_context(run: Path) -> None:
    file = export(run, "--config.format=agentnet", "--config.verdict=solved") / "agentnet.jsonl"
    record = json.loads(file.read_text())
    record["traj"][0]["value"]["code"] = "computer.no_such_thing()"
    file.write_text(json.dumps({**record, CONTEXT_STEPS: [0, 2]}))
    [read] = read_dataset(str(file))
    assert len(read.steps) == 2 and read.metadata[CONTEXT_STEPS] == [1]


def test_evaluations_are_left_out_unless_asked_for(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By their mark, and by the names that they have in runs that had none."""
    stages = run / "trajectories"
    for stage in ("held", "before", "after", "after-15", "after_sft", "validate_new", "before_dawn"):
        (stages / stage).mkdir()
        save_trajectory(stages / stage / "0.trajectory", episode(stage, 1.0, (1,)))
    mark_evaluation(stages / "held")
    assert {file.parent.name for file in trajectory_files(run)} == {"attempts", "ppo", "before_dawn"}
    assert "6 of evaluations are left out: --config.evaluations=True takes them, too" in capsys.readouterr().out
    assert len(trajectory_files(run, evaluations=True)) == 10
    with pytest.raises(InputError, match="config.evaluations must be True where all 1 episodes of .* are of eval"):
        trajectory_files(stages / "held")
    export(run, "--config.evaluations=True")
    assert "9 of 10 episodes" in capsys.readouterr().out
    for name in ("held", "after_sft"):
        with pytest.raises(InputError, match=r"must not be of an evaluation unless its name ends with \?purpose="):
            list(read_dataset(f"{stages}/{name}"))
        assert [each.id for each in read_dataset(f"{stages}/{name}?purpose=evaluation")] == [name]
    assert [each.id for each in read_dataset(f"{stages}/ppo")] == ["won"]


def test_the_extra_is_named_where_pyarrow_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow: install the extra parquet, tars_jax\[parquet\]"):
        write_parquet(tmp_path / "a.parquet", [])


@pytest.mark.parametrize("prepare", [lambda path: None, Path.mkdir])
def test_where_nothing_was_recorded(tmp_path: Path, prepare: Callable[[Path], None]) -> None:
    prepare(tmp_path / "empty")
    with pytest.raises(InputError, match="config.source must be a run directory or a folder of trajectories"):
        trajectory_files(tmp_path / "empty")
