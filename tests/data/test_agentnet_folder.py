"""AgentNet's form, out and in again: each of our actions as PyAutoGUI code, records, images beside them."""

from __future__ import annotations

import ast
import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.agent.actions import (
    Action,
    CallUser,
    Click,
    Drag,
    Finished,
    Hotkey,
    LeftDouble,
    LongPress,
    MouseDown,
    MouseUp,
    MoveTo,
    Navigate,
    OpenApp,
    Point,
    Press,
    PressHome,
    Release,
    RightSingle,
    Scroll,
    ToolCall,
    Type,
    Wait,
)
from tars_jax.agent.grammar import format_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.keys import NAMED_KEYS
from tars_jax.agent.response import Response
from tars_jax.data.agentnet_folder import write_agentnet
from tars_jax.data.datasets import read_dataset
from tars_jax.data.pyautogui_calls import NoSuchAction, actions_of_code
from tars_jax.data.pyautogui_code import code_of_actions
from tars_jax.environment import Task
from tars_jax.trajectory import Outcome, Step, Trajectory
from tests.data.test_exporters import picture

grid = st.builds(Point, *[st.integers(0, 1000).map(float)] * 2)
keys = st.sampled_from(sorted(NAMED_KEYS)) | st.sampled_from("abcxyz019+-=/")
said = st.one_of(
    *(st.builds(kind, grid) for kind in (Click, LeftDouble, RightSingle)),
    st.builds(Drag, grid, grid),
    st.builds(Scroll, grid, st.sampled_from(["up", "down", "left", "right"])),
    st.builds(Type, st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)),
    st.lists(keys, min_size=1, max_size=3).map(lambda names: Hotkey(tuple(names))),
    st.builds(Press, keys),
    st.builds(Release, keys),
    st.builds(MouseDown, grid, st.sampled_from(["left", "right"])),
    st.builds(MouseUp, grid, st.sampled_from(["left", "right"])),
    st.builds(Wait, st.floats(0.001, 60)),
    st.builds(Finished, st.text(st.characters(exclude_categories=["Cs"]), max_size=12)),
    st.just(CallUser()),
)


@given(st.lists(said, min_size=1, max_size=4))
def test_what_code_says_is_read_back_as_the_same_actions(actions: list[Action]) -> None:
    read, _ = actions_of_code(code_of_actions(actions), None)
    assert read == tuple(actions)


@pytest.mark.parametrize(
    ("actions", "code"),
    [
        ([Click(Point(250, 500))], "pyautogui.click(x=0.25, y=0.5)"),
        ([MoveTo(Point(250, 500))], "pyautogui.moveTo(x=0.25, y=0.5)"),
        ([Drag(Point(0, 10), Point(1000, 333))],
         "pyautogui.moveTo(x=0.0, y=0.01)\npyautogui.dragTo(x=1.0, y=0.333, button='left')"),
        ([Scroll(Point(396, 784), "down")], "pyautogui.moveTo(x=0.396, y=0.784)\npyautogui.scroll(-5)"),
        ([Scroll(None, "right")], "pyautogui.hscroll(5)"),
        ([Hotkey(("meta",))], "pyautogui.press(keys='win')"),
        ([Hotkey(("ctrl", "c")), Type("a\n")], "pyautogui.hotkey(['ctrl', 'c'])\npyautogui.write(message='a\\n')"),
        ([LongPress(Point(500, 500))], "pyautogui.mouseDown(x=0.5, y=0.5, button='left')\n"
         "computer.wait(seconds=1.0)\npyautogui.mouseUp(button='left')"),
        ([Finished("42")], "computer.terminate(status='success', answer='42')"),
        ([CallUser()], "computer.terminate(status='failure')"),
    ],
)  # fmt: skip
def test_code_is_as_agentnet_has_it(actions: list[Action], code: str) -> None:
    assert code_of_actions(actions) == code
    ast.parse(code)


@pytest.mark.parametrize("action", [PressHome(), OpenApp("x"), Navigate("x"), Type(""), ToolCall("search", {"a": 1})])
def test_what_no_mouse_or_keyboard_does_is_refused(action: Action) -> None:
    with pytest.raises(NoSuchAction):
        code_of_actions([action])


def episode(name: str, *turns: tuple[Action, ...], **more: Any) -> Trajectory:
    steps = tuple(
        Step(
            picture(number + 1), format_response(Response(f"thought {number}", actions)), f"thought {number}",
            "\n\n".join(map(format_call, actions)), None, 0.0, 0, True, {}, "some text",
        )
        for number, actions in enumerate(turns)
    )  # fmt: skip
    task = Task(name, "recorded", 0, {}, max(1, len(steps))).to_json()
    return Trajectory(name, task, (), steps, Outcome.FINISHED, 1.0, {"instruction": "Sort it."}, success=True, **more)


TURNS = ((Click(Point(100, 200)),), (Hotkey(("ctrl", "a")), Type("new")), (Finished("done"),))


def test_a_folder_in_agentnets_form_is_read_back(tmp_path: Path) -> None:
    assert write_agentnet(tmp_path, [episode("first", *TURNS), episode("second", TURNS[0])]) == 2
    first, second = (json.loads(line) for line in (tmp_path / "agentnet.jsonl").read_text().splitlines())
    assert set(first) == {
        "task_id", "instruction", "traj", "task_completed", "alignment_score", "efficiency_score", "task_difficulty",
        "natural_language_task", "actual_task",
        "purpose", "held_out", "context_steps",  # ours: what is kept apart, and what is not imitated
    }  # fmt: skip
    assert [step["index"] for step in first["traj"]] == [0, 1, 2]
    assert set(first["traj"][0]["value"]) == {
        "code", "observation", "thought", "action", "reflection", "last_step_correct", "last_step_redundant",
    }  # fmt: skip
    assert first["task_completed"] is True and first["alignment_score"] is None
    assert len(list((tmp_path / "images").iterdir())) == 3 and second["traj"][0]["image"] == first["traj"][0]["image"]
    read, _ = read_dataset(str(tmp_path))
    original = episode("first", *TURNS)
    assert [(step.thought, step.action, step.screenshot) for step in read.steps] == [
        (step.thought, step.action, step.screenshot) for step in original.steps
    ]
    assert (read.id, read.success, read.metadata["instruction"]) == ("first", True, "Sort it.")


def test_an_episode_of_which_a_step_cannot_be_said_is_left_out_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unseen = episode("unseen", *TURNS)
    unseen = dataclasses.replace(unseen, steps=(dataclasses.replace(unseen.steps[0], screenshot=b""),))
    unasked = dataclasses.replace(episode("unasked", *TURNS), metadata={})
    others = [episode("phone", TURNS[0], (PressHome(),)), unseen, unasked, episode("nothing")]
    assert write_agentnet(tmp_path, [*others, episode("kept", *TURNS)]) == 1
    for reason in (
        "press_home (1)",
        "a step without an image (1)",
        "nobody says what was asked (1)",
        "has no step (1)",
    ):
        assert reason in caplog.text
    assert len(list((tmp_path / "images").iterdir())) == 3


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    | st.sampled_from(["pyautogui.click(x=0.1, y=0.2)", "computer.terminate()", "pyautogui.write(5)", "0.png"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["code", "thought", "value", "image", "index"]), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["instruction", "task_completed", "traj", "task_id"]), values), values, values)
def test_any_record_is_read_or_refused_by_file_line_and_field(top: dict[str, Any], value: Any, image: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "0.png").write_bytes(picture(1))
        good = {"instruction": "Go.", "traj": [{"index": 0, "image": "0.png", "value": {"code": "computer.wait()"}}]}
        for record in ({**good, **top, "traj": top.get("traj", good["traj"])},
                       {**good, "traj": [{"image": image, "value": value}]},
                       {**good, "traj": [{"image": "0.png", "value": {"code": value, "thought": image}}]}):  # fmt: skip
            file = Path(folder, "agentnet.jsonl")
            file.write_text(json.dumps(record))
            try:
                list(read_dataset(str(file)))
            except InputError as error:
                assert f"{file}:1: field " in str(error)
