"""Recorded data of others and our own exports, read back as trajectories that a policy can imitate."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.data.datasets import read_dataset
from tars_jax.data.exporters import write_jsonl, write_parquet
from tars_jax.data.recorded import instruction_of
from tars_jax.data.retokenized import EpisodeReader, retokenize
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.trajectory import Outcome, Step, Trajectory
from tars_jax.trajectory.checks import check_answers, check_sampled
from tars_jax.trajectory.files import save_trajectory

TOKENIZER = load_tokenizer()
HERE = "tests.data.test_datasets:"
WRITER = PromptWriter(TOKENIZER, 4, max_observation_tokens=32)
READER = EpisodeReader(
    WRITER, AgentConfig("text", MemoryConfig(1, 2, 4)), TOKENIZER.image, TOKENIZER.vocabulary, lambda *_: (32, 32)
)


def picture(shade: int, form: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (32, 32), (shade, 0, 0)).save(buffer, form)
    return buffer.getvalue()


def url(shade: int) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture(shade)).decode()}"


def step(shade: int, response: str, action: str, text: str = "", reward: float = 0.0) -> Step:
    thought = response.partition("\n")[0].removeprefix("Thought: ") if action else ""
    screenshot = picture(shade) if shade else b""
    point = (500.0, 20.0) if "point" in action else None
    return Step(screenshot, response, thought, action, point, reward, 0, bool(action), {}, text)


CLICK = "click(point='<point>500 20</point>')"
STEPS = (
    step(1, f"Thought: the button\nAction: {CLICK}", CLICK, "ready"),
    step(2, "no idea", ""),
    step(2, "still none", "", "there is no action"),
    step(0, "Thought: count\nAction: count(of='a b', n=2)", "count(of='a b', n=2)", "two\nlines"),
    step(3, "Thought: over\nAction: finished(content='7')", "finished(content='7')", reward=1.0),
)
TASK = {"id": "t", "environment": "mine:Own", "seed": 3, "options": {}, "max_steps": 8}
EPISODE = Trajectory("e1", TASK, (), STEPS, Outcome.FINISHED, 1.0, {"instruction": "Find it."}, success=True)


def read(name: Any) -> list[Trajectory]:
    return list(read_dataset(str(name)))


def write(file: Path, *records: Any) -> Path:
    file.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return file


@pytest.mark.parametrize("form", ["qwen", "openai", "parquet"])
def test_what_is_exported_is_read_back(form: str, tmp_path: Path) -> None:
    """The text of steps, and so the windows that a learner has of them; not what only a simulator knows."""
    if form == "parquet":
        pytest.importorskip("pyarrow")
        write_parquet(tmp_path / "trajectories.parquet", [EPISODE, EPISODE])
    else:
        write_jsonl(tmp_path, [EPISODE, EPISODE], form)
    again, _ = read(tmp_path)
    assert again.steps == STEPS and again.metadata["instruction"] == "Find it."
    assert (again.id, again.task, again.outcome, again.reward, again.success) == (
        "e1",
        TASK,
        EPISODE.outcome,
        1.0,
        True,
    )
    ours, theirs = (retokenize(each, instruction_of(each), READER) for each in (EPISODE, again))
    for one, other in zip(ours.windows, theirs.windows, strict=True):
        assert np.array_equal(one.tokens, other.tokens) and one.images == other.images
    text = TOKENIZER.decode(ours.windows[-1].tokens.tolist())
    assert "Find it." in TOKENIZER.decode(ours.windows[0].tokens.tolist()) and "two\nlines" in text
    check_answers(theirs, "again")


def test_what_nobody_sampled_is_no_data_for_ppo() -> None:
    with pytest.raises(InputError, match=r"e1: field windows\[0\].versions must be those of the policy .* imitated"):
        check_sampled(retokenize(EPISODE, "Find it.", READER), "e1")


def test_folders_of_trajectories_and_functions_of_ones_own(tmp_path: Path) -> None:
    ours = retokenize(EPISODE, "Find it.", READER)
    played = tmp_path / "played"
    played.mkdir()
    save_trajectory(played / "00000000.trajectory", ours)
    save_trajectory(played / "00000001.trajectory", dataclasses.replace(ours, outcome=Outcome.FAILED))
    assert [each.id for each in read(played)] == ["e1"]
    assert [each.id for each in read(f"{HERE}two_of_mine")] == ["e1", "e1"]
    with pytest.raises(InputError, match="must give trajectories; got str"):
        read(f"{HERE}texts")
    with pytest.raises(InputError, match="must be a function; got an object of type tuple"):
        read(f"{HERE}STEPS")
    with pytest.raises(InputError, match="dataset must be a folder of trajectories .*; got 'nowhere'"):
        read("nowhere")
    with pytest.raises(InputError, match="dataset must be a folder"):
        read(tmp_path)


def two_of_mine() -> Iterator[Trajectory]:
    yield from (EPISODE, EPISODE)


def texts() -> list[str]:
    return ["a"]


def test_messages_as_others_write_them(tmp_path: Path) -> None:
    """A system message, texts with <image>, images beside the messages, tools with their answers, JPEG."""
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").write_bytes(picture(9, "JPEG"))
    call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "sun"}'}}
    records = [
        {
            "messages": [
                {"role": "system", "content": "You are an agent."},
                {"role": "user", "content": "<image>\nPress the button."},
                {"role": "assistant", "content": "<think>there</think><tool_call><function=click><parameter=point>"
                 "<point>5 6</point></parameter></function></tool_call>"},
                {"role": "user", "content": "well done"},
            ],
            "images": ["images/a.jpg"],
        },
        {
            "messages": [
                {"role": "user", "content": "What is a sun?"},
                {"role": "assistant", "content": "I look it up.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": "a star"},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url(4)}}]},
                {"role": "assistant", "content": "finished(content='a star')"},
            ],
            "success": True,
        },
    ]  # fmt: skip
    first, second = read(write(tmp_path / "theirs.jsonl", "", *records))
    assert (first.metadata["instruction"], first.final_text, first.success, first.id) == (
        "Press the button.", "well done", None, "theirs-2",
    )  # fmt: skip
    assert first.steps[0].action == "click(point='<point>5 6</point>')" and first.steps[0].thought == "there"
    assert Image.open(io.BytesIO(first.steps[0].screenshot)).format == "PNG"
    assert second.steps[0].response == "Thought: I look it up.\nAction: look_up(word='sun')"
    assert (second.steps[1].text, second.steps[1].screenshot) == ("a star", picture(4))
    assert (second.reward, second.steps[-1].reward, second.success) == (1.0, 1.0, True)


USER = {"role": "user", "content": "Go."}
AGENT = {"role": "assistant", "content": "wait()"}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("{", "theirs.jsonl:2 must be an object of JSON"),
        ({}, ":2: field messages must be of type list; got None"),
        ({"messages": [AGENT]}, r":2: field messages\[0\] must follow a user's message"),
        ({"messages": [USER]}, ":2: field messages must hold an assistant's message"),
        ({"messages": [{"role": "robot"}]}, r":2: field messages\[0\].role must be system, .*; got 'robot'"),
        ({"messages": [{"role": "user", "content": 5}]}, r"messages\[0\].content must be text or a list of parts"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, r"content\[0\] must be a text or an image"),
        ({"messages": [{"role": "user", "content": "<image>"}, AGENT]}, r"content\[0\] must name its image"),
        ({"messages": [{"role": "user", "content": "<image><image>"}], "images": [url(1), url(2)]}, "one image"),
        ({"messages": [USER, AGENT], "images": ["a.png"]}, "field images must have a place in the messages"),
        ({"messages": [{"role": "user", "content": "<image>"}], "images": ["a.png"]}, "must be a file of an image"),
        ({"messages": [{"role": "user", "content": "<image>"}], "images": ["http://x/a.png"]}, "nothing is fetched"),
        ({"messages": [{"role": "user", "content": "<image>"}], "images": ["data:image/png;base64,AAAA"]}, "an image"),
        ({"messages": [USER, {"role": "assistant", "content": ""}]}, r"messages\[1\].content must be what the assis"),
        ({"messages": [USER, {**AGENT, "tool_calls": [{"name": "x"}]}]}, r"messages\[1\].tool_calls must be calls"),
        ({"messages": [USER, AGENT], "actions": []}, "field actions must be a text for each of 1 answers"),
        ({"messages": [USER, AGENT], "success": 1}, "field success must be true, false or null; got 1"),
        ({"messages": [USER, AGENT], "reward": "much"}, "field reward must be a finite number; got 'much'"),
        ({"messages": [USER, AGENT], "outcome": "failed"}, "field outcome must be one of finished, .*; got 'failed'"),
        ({"messages": [USER, AGENT], "task": "{}"}, "field task must be an object with max_steps"),
    ],
)  # fmt: skip
def test_a_malformed_record_is_named_by_file_line_and_field(record: Any, words: str, tmp_path: Path) -> None:
    file = write(tmp_path / "theirs.jsonl", {"messages": [USER, AGENT]}, record)
    with pytest.raises(InputError, match=words) as caught:
        read(file)
    assert f"{file}:2" in str(caught.value)


def agentnet(*codes: str, **fields: Any) -> dict[str, Any]:
    steps = [
        {"index": index, "image": f"{index}.png", "value": {"thought": f"t{index}", "action": "a", "code": code}}
        for index, code in enumerate(codes)
    ]
    return {"task_id": "task", "instruction": "Sort it.", "task_completed": True, "traj": steps, **fields}


def test_agentnets_code_becomes_typed_actions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "ubuntu_images").mkdir()
    for index in range(16):
        (tmp_path / "ubuntu_images" / f"{index}.png").write_bytes(picture(index + 1))
    codes = {
        "pyautogui.click(x=0.25, y=0.5)": "click(point='<point>250 500</point>')",
        "pyautogui.rightClick(0.1, 0.2)": "right_single(point='<point>100 200</point>')",
        "pyautogui.moveTo(x=0.1, y=0.1)\npyautogui.dragTo(x=0.3, y=0.1, button='left')":
            "drag(start_point='<point>100 100</point>', end_point='<point>300 100</point>')",
        "pyautogui.hotkey(['ctrl', 'c'])": "hotkey(key='ctrl c')",
        "pyautogui.press(keys='enter', presses=2)": "hotkey(key='enter')\n\nhotkey(key='enter')",
        "pyautogui.write(message='it\\'s')": "type(content='it\\'s')",
        "pyautogui.scroll(-5)": "scroll(point='<point>300 100</point>', direction='down')",
        "computer.tripleClick(x=0.5, y=0.5)":
            "left_double(point='<point>500 500</point>')\n\nclick(point='<point>500 500</point>')",
        "pyautogui.write(['left', 'enter', 'A', 'b'])":
            "hotkey(key='left')\n\nhotkey(key='enter')\n\ntype(content='A')\n\nhotkey(key='b')",
        "pyautogui.press([' ', 'num5', '+'])": "hotkey(key='space')\n\nhotkey(key='5')\n\nhotkey(key='+')",
        "pyautogui.hotkey('ctrlleft', 'shift', '+')": "hotkey(key='ctrl shift +')",
        "computer.wait()": "wait()",
        "computer.terminate(status='success')": "finished()",
    }  # fmt: skip
    unsaid = ["pyautogui.press('browserback')", "pyautogui.scroll(0)", "pyautogui.write('')", "computer.wait(999)"]
    file = write(
        tmp_path / "agentnet.jsonl", agentnet(*codes, *unsaid[:2]), agentnet("pyautogui.middleClick(x=0.1, y=0.1)"),
        agentnet(*unsaid[2:]),
    )  # fmt: skip
    (episode,) = read(file)
    assert [each.action for each in episode.steps] == list(codes.values())
    assert [each.thought for each in episode.steps] == [f"t{index}" for index in range(len(codes))]
    assert episode.steps[1].screenshot == picture(2) and episode.steps[0].point == (250.0, 500.0)
    assert (episode.success, episode.reward, episode.metadata["instruction"]) == (True, 1.0, "Sort it.")
    assert "2 of 3 records are left out, as no action of ours says: any of its steps (2)" in caplog.text
    said = caplog.messages[-1]
    assert said.startswith("5 steps are left out") and "middleClick (1)" in said and "key 'browserback' (1)" in said
    assert "scroll by nothing (1)" in said and "write of nothing (1)" in said and "wait: wait: time must be" in said
    assert len(retokenize(episode, "Sort it.", READER).steps) == len(codes)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (agentnet("import os"), r":1: field traj\[0\].value.code must be calls of pyautogui; got 'import os'"),
        (agentnet("os.system('x')"), "code must be calls of pyautogui and computer; got"),
        (agentnet("pyautogui.click(x=a, y=0)"), "code must have values as arguments"),
        (agentnet("pyautogui.click(x=250, y=3)"), "click must point with x and y of 0 to 1; got 250 and 3"),
        (agentnet("pyautogui.click(x=0.1, y=0.1, clicks=[2])"), "code must have arguments that click takes"),
        (agentnet("pyautogui.press('a', presses='b')"), "code must have arguments that press takes"),
        (agentnet("pyautogui.click("), "code must be calls of pyautogui"),
        (agentnet("computer.wait()", instruction=None), "field instruction must be a text; got None"),
        (agentnet("computer.wait()", task_completed="yes"), "field task_completed must be true or false"),
        (agentnet(), "field traj must be a list of steps"),
        ({"traj": [{"image": "0.png"}]}, r"field traj\[0\] must have an image and a value with code"),
        ({"traj": [{"image": "no.png", "value": {"code": "computer.wait()"}}]}, r"traj\[0\].image must be a file"),
    ],
)
def test_malformed_records_of_agentnet(record: Any, words: str, tmp_path: Path) -> None:
    (tmp_path / "0.png").write_bytes(picture(1))
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "agentnet.jsonl", record))


def test_a_step_that_is_left_out_leaves_the_others(tmp_path: Path) -> None:
    for index in range(3):
        (tmp_path / f"{index}.png").write_bytes(picture(index + 1))
    codes = ("pyautogui.click(x=0.1, y=0.1)", "pyautogui.press('volumeup')", "pyautogui.dragTo(x=0.3, y=0.1)")
    (episode,) = read(write(tmp_path / "agentnet.jsonl", agentnet(*codes)))
    assert [each.thought for each in episode.steps] == ["t0"]  # where the drag begins, nobody knows any more


def test_a_table_fills_up_with_nulls_that_nobody_wrote(tmp_path: Path) -> None:
    """A column of structs has every field that any row has."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    def asked(name: str, **arguments: Any) -> dict[str, Any]:
        call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"messages": [USER, {"role": "assistant", "content": "so", "tool_calls": [call]}]}

    records = [
        asked("open", url="u"), asked("search", query="q", limit=3), asked("click", point="<point>5 6</point>"),
        asked("open", url="v", options={"new": True, "size": None}), asked("search", options={"size": [1, 2]}),
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "calls.parquet")
    found = ["open(url='u')", "search(query='q', limit=3)", "click(point='<point>5 6</point>')"]
    found += ["open(url='v', options={'new': true})", "search(options={'size': [1, 2]})"]
    actions = [each.steps[0].action for each in read(tmp_path / "calls.parquet")]
    assert actions[:3] == found[:3]
    assert "null" not in "".join(actions) and "None" not in "".join(actions)
    lines = write(tmp_path / "calls.jsonl", *pq.read_table(tmp_path / "calls.parquet").to_pylist())
    assert [each.steps[0].action for each in read(lines)] == actions
    told = asked("open", url="u")
    told["messages"][1]["tool_calls"][0]["function"]["arguments"] = '{"url": null}'  # somebody wrote this
    assert "null" in read(write(tmp_path / "told.jsonl", told))[0].steps[0].action


def test_what_datasets_saves_to_disk_and_the_hubs_layout(tmp_path: Path) -> None:
    """Arrow streams that state.json names; of several splits the one for training."""
    pa = pytest.importorskip("pyarrow")
    record = {
        "messages": [{"role": "user", "content": "<image>Go."}, {"role": "assistant", "content": "wait()"}],
        "images": [{"bytes": picture(5), "path": None}],
        "success": None,
    }
    table = pa.Table.from_pylist([record] * 3)
    for split in ("train", "test"):
        folder = tmp_path / "saved" / split
        folder.mkdir(parents=True)
        with pa.ipc.new_stream(str(folder / "data-00000-of-00001.arrow"), table.schema) as stream:
            stream.write_table(table)
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    (tmp_path / "saved" / "dataset_dict.json").write_text(json.dumps({"splits": ["test", "train"]}))
    found = read(tmp_path / "saved")
    assert len(found) == 3 and {each.steps[0].screenshot for each in found} == {picture(5)}
    assert "saved/train" in found[0].metadata["recorded_in"]

    import pyarrow.parquet as pq

    hub = tmp_path / "hub" / "data"
    hub.mkdir(parents=True)
    pq.write_table(table, hub / "train-00000-of-00001.parquet")
    pq.write_table(table, hub / "test-00000-of-00001.parquet")
    assert len(read(tmp_path / "hub")) == 3
    (hub / "train-00000-of-00001.parquet").write_bytes(b"PAR1 cut")
    with pytest.raises(InputError, match="train-00000-of-00001.parquet must be a file of Parquet"):
        read(tmp_path / "hub")
    (hub / "train-00000-of-00001.parquet").rename(hub / "dev-00000-of-00001.parquet")
    with pytest.raises(InputError, match="must have a split train, or be the folder of one split; got dev, test"):
        read(tmp_path / "hub")
