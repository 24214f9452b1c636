"""Conversations of others as a policy server would have read them, to the token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax.data.datasets import read_dataset
from tars_jax.data.recorded import instruction_of
from tars_jax.data.retokenized import MARK
from tars_jax.data.retokenized_chat import retokenize_chat
from tars_jax.inference.chat_protocol import message_of
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.data_urls import encode_image
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.checks import check_trajectory

TOKENIZER = load_tokenizer()
TURNS = TurnFormat(TOKENIZER, lambda height, width: height * width // 1024)
CALL: Any = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"way": "left"}'}}


def again(trajectory: Trajectory) -> Trajectory:
    return retokenize_chat(
        trajectory,
        instruction_of(trajectory),
        TURNS,
        lambda text: [*TOKENIZER.encode(text), TOKENIZER.end],
        lambda height, width: (32, 64),
    )


def test_a_conversation_is_read_as_the_server_reads_it(tmp_path: Path) -> None:
    picture = {"type": "image", "image": encode_image(np.full((64, 128, 3), 7, np.uint8))}
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "plum kiwi: first?"},
        {"role": "assistant", "content": "plum"},
        {"role": "user", "content": [{"type": "text", "text": "And here?"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "nothing"},
        {"role": "assistant", "content": "kiwi"},
    ]  # fmt: skip
    (tmp_path / "some.jsonl").write_text(json.dumps({"messages": messages, "reward": 1.0}) + "\n")
    [read] = read_dataset(str(tmp_path / "some.jsonl"))
    found = again(read)
    called = message_of({"role": "assistant", "content": None, "tool_calls": [CALL]})
    small = np.full((32, 64, 3), 7, np.uint8)
    whole = TURNS(
        [
            Message("system", ("Be brief.",)),
            Message("user", ("plum kiwi: first?",)),
            Message("assistant", ("plum",)),
            Message("user", ("And here?", small)),
            called,
            Message("tool", ("nothing",)),
            Message("assistant", ("kiwi",)),
            Message("user", ("",)),
        ]
    )
    [window] = found.windows
    end = TOKENIZER.encode("<|user|><|agent|>")
    assert window.tokens.tolist() + end == whole.tokens and window.images == (1,)
    answers = [window.tokens[window.action_mask & (window.steps == step)].tolist() for step in range(3)]
    assert [TOKENIZER.decode(tokens) for tokens in answers] == [
        "plum<|end|>",
        f"{called.parts[0]}<|end|>",
        "kiwi<|end|>",
    ]
    assert found.metadata[MARK] and found.steps[1].response == called.parts[0] and found.reward == 1
    check_trajectory(found, "it")
