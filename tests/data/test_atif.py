"""Documents of ATIF, out and in: what the format's own package accepts, token by token, and what others write."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.data.atif_writing import write_atif
from tars_jax.data.datasets import read_dataset
from tars_jax.data.exporters import write_jsonl
from tars_jax.environment import Task
from tars_jax.inference.data_urls import encode_image
from tars_jax.rollout.recorded_episode import trajectory_of_recorded
from tars_jax.trajectory import ContextWindow, Outcome, Trajectory
from tars_jax.trajectory.context import CONTEXT_STEPS, context_of
from tests.data.test_exporters import episode, picture

atif = pytest.importorskip("atif")


def documents(folder: Path) -> list[Any]:
    """As the format's own package reads them, strictly."""
    return [atif.Trajectory.model_validate_json(file.read_text()) for file in sorted(folder.glob("*.atif.json"))]


def two_windows() -> Trajectory:
    """Three steps, of which the last begins a window anew."""
    played = episode("won", 1.0, (1, 2, 3))
    windows = (
        ContextWindow(
            np.array([5, 6, 7, 8, 9], np.int32), np.array([False, True, False, True, True]),
            np.array([0, -0.5, 0, -0.25, -1], np.float32), np.array([-1, 3, -1, 4, 5], np.int32),
            np.array([-1, 0, 1, 1, 1], np.int32), (0, 1),
        ),
        ContextWindow(
            np.array([5, 1, 2], np.int32), np.array([False, False, True]), np.array([0, 0, -2], np.float32),
            np.array([-1, -1, 6], np.int32), np.array([-1, 2, 2], np.int32), (2,),
        ),
    )  # fmt: skip
    return dataclasses.replace(played, windows=windows, final_screenshot=picture(9), final_text="won")


def test_what_was_sampled_goes_out_and_comes_in_to_the_last_token(tmp_path: Path) -> None:
    played = two_windows()
    assert write_atif(tmp_path, [played]) == 1
    [document] = documents(tmp_path)
    user, *agent = document.steps
    assert user.source == "user" and [part.type for part in user.message] == ["text", "image"]
    assert [step.metrics.prompt_token_ids for step in agent] == [[5], [5, 6, 7], [5, 1]]
    assert [step.metrics.completion_token_ids for step in agent] == [[6], [8, 9], [2]]
    assert [step.metrics.logprobs for step in agent] == [[-0.5], [-0.25, -1.0], [-2.0]]
    assert [step.tool_calls[0].function_name for step in agent] == ["wait"] * 3
    assert [step.llm_call_count for step in agent] == [1] * 3 and agent[0].reasoning_content == "won"
    assert [part.type for part in agent[-1].observation.results[0].content] == ["text", "image"]
    assert document.final_metrics.total_completion_tokens == 4
    [found] = read_dataset(str(tmp_path))
    for own, other in zip(played.windows, found.windows, strict=True):
        for name in ("tokens", "action_mask", "log_probs", "versions"):
            np.testing.assert_array_equal(getattr(own, name), getattr(other, name), err_msg=name)
        assert (own.steps[own.action_mask] == other.steps[other.action_mask]).all() and own.images == other.images
    assert [step.screenshot for step in found.steps] == [step.screenshot for step in played.steps]
    assert [step.action for step in found.steps] == ["wait()"] * 3 and found.final_screenshot == picture(9)
    assert (found.id, found.reward, found.success, found.task) == ("won", 1.0, True, played.task)


def test_context_and_what_nobody_sampled_are_said(tmp_path: Path) -> None:
    played = two_windows()
    first, second = played.windows
    shown = dataclasses.replace(first, versions=np.where(first.steps == 0, -1, first.versions).astype(np.int32))
    marked = dataclasses.replace(played, windows=(shown, second), metadata={**played.metadata, CONTEXT_STEPS: [1]})
    write_atif(tmp_path, [marked])
    [document] = documents(tmp_path)
    _, by_nobody, copied, sampled = document.steps
    assert by_nobody.llm_call_count == 0 and by_nobody.metrics is None and by_nobody.reasoning_content is None
    assert copied.is_copied_context and not sampled.is_copied_context
    [found] = read_dataset(str(tmp_path))
    assert context_of(found) == [1]


OTHERS: dict[str, Any] = {
    "schema_version": "ATIF-v1.6",
    "session_id": "trial-1",
    "agent": {"name": "terminus-2", "version": "2.0", "model_name": "somebody/else"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You are an agent."},
        {"step_id": 2, "source": "user", "message": "Make the file."},
        {
            "step_id": 3, "source": "agent", "message": "I make it.", "reasoning_content": "It is not there.",
            "tool_calls": [{"tool_call_id": "a", "function_name": "bash", "arguments": {"command": "touch x"}}],
            "observation": {"results": [{"source_call_id": "a", "content": "$ touch x\n$ "}]},
            "metrics": {"prompt_tokens": 9, "completion_token_ids": [1, 2], "logprobs": [-1, -2]},
            "is_copied_context": True,
        },
        {"step_id": 4, "source": "agent", "message": "Done.", "extra": {"anything": 1}},
    ],
}  # fmt: skip


def test_documents_of_others_as_harbor_leaves_them(tmp_path: Path) -> None:
    inner = {**OTHERS, "trajectory_id": "helper"}
    for name, document in (("one", OTHERS), ("two", {**OTHERS, "subagent_trajectories": [inner]})):
        folder = tmp_path / "jobs" / name / "agent"
        folder.mkdir(parents=True)
        (folder / "trajectory.json").write_text(json.dumps(document))
    first, second, helper = read_dataset(str(tmp_path / "jobs"))
    assert (first.id, second.id, helper.id) == ("trial-1", "trial-1", "helper")
    assert first.metadata["instruction"] == "Make the file." and first.windows == ()
    assert [step.action for step in first.steps] == ["bash(command='touch x')", ""]
    assert first.steps[0].thought == "It is not there.\nI make it." and first.steps[1].text == "$ touch x\n$ "
    assert first.steps[1].response == "Done." and context_of(first) == [0]
    [alone] = read_dataset(str(tmp_path / "jobs" / "one" / "agent" / "trajectory.json"))
    assert alone.id == "trial-1"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema_version": "ATIF-v2"}, "field schema_version must be ATIF-v1.0 to 8; got 'ATIF-v2'"),
        ({"steps": 3}, "steps must be an array; got 3"),
        ({"steps": [{"source": "agent"}]}, "steps[0].message must be text or an array; got nothing"),
        ({"steps": OTHERS["steps"][:2]}, "must hold an assistant's message"),
        ({"steps": [{"source": "robot", "message": "x"}]}, "role must be system, user, assistant or tool"),
    ],
)
def test_what_is_no_document_is_refused_by_file_and_field(tmp_path: Path, change: Any, says: str) -> None:
    file = tmp_path / "trajectory.json"
    file.write_text(json.dumps({**OTHERS, **change}))
    with pytest.raises(InputError) as raised:
        list(read_dataset(str(tmp_path)))
    assert says in str(raised.value) and str(file) in str(raised.value)


values = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=4) | st.lists(st.integers(0, 9))
fields = st.sampled_from(["message", "metrics", "tool_calls", "observation", "extra", "source", "reasoning_content"])


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(fields, values, max_size=3), st.integers(0, 3))
def test_any_document_is_read_or_refused(change: dict[str, Any], place: int) -> None:
    steps = [{**step, **change} if number == place else step for number, step in enumerate(OTHERS["steps"])]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "trajectory.json").write_text(json.dumps({**OTHERS, "steps": steps}))
        try:
            list(read_dataset(folder))
        except InputError as error:
            assert folder in str(error)


def recorded_turn(number: int, asked: str, images: list[str], *tokens: int) -> dict[str, Any]:
    answer = {"tokens": tokens, "log_probs": [-1.0] * len(tokens), "versions": [2] * len(tokens), "finish": "stop"}
    about = {"asked": asked, "text": f"answer {number}", "free": True, "read_again": False}
    return {"number": number, "read": [1, 2], "images": images, "answer": answer, **about}


def test_what_a_client_played_goes_out_and_comes_in_though_it_has_no_task_of_ours(tmp_path: Path) -> None:
    """Two agents in turns, each with its window; one that was asked by a picture alone."""
    url = encode_image(np.zeros((32, 32, 3), np.uint8))
    windows = [
        [recorded_turn(0, "Begin.", [], 5, 6), recorded_turn(2, "Go on.", [url], 7)],
        [recorded_turn(1, "Check.", [], 8)],
    ]
    task = Task("t", "harness", 4, {"command": "run"}, 9)
    whole: Any = {"id": "x", "task": task, "reward": 0.5, "success": False, "outcome": Outcome.FINISHED, "metadata": {}}
    played = trajectory_of_recorded(windows, **whole)
    silent = trajectory_of_recorded([[recorded_turn(0, "", [url], 5, 6)]], **whole)
    assert write_atif(tmp_path, [played, silent]) == 2 == write_jsonl(tmp_path / "messages", [played, silent])
    assert documents(tmp_path)[0].steps[0].message[0].text == "Begin."
    found, by_picture = read_dataset(str(tmp_path))
    assert [step.text for step in found.steps] == ["", "Check.", "Go on."] and found.metadata["instruction"] == "Begin."
    assert [step.response for step in found.steps] == ["answer 0", "answer 1", "answer 2"]
    assert sum(window.action_mask.sum() for window in found.windows) == 4 and found.task == task.to_json()
    assert by_picture.steps[0].screenshot == silent.steps[0].screenshot
