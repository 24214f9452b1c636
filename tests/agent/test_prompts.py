"""Turns as tokens of the committed tokenizer."""

import pytest

from tars_jax.agent.observations import ShownObservation
from tars_jax.agent.prompts import PromptWriter
from tars_jax.model.tokenizer import load_tokenizer

TOKENIZER = load_tokenizer()
WRITER = PromptWriter(TOKENIZER, image_tokens=3)


def text(tokens: list[int]) -> str:
    return TOKENIZER.decode(tokens)


def test_a_response_is_read_without_its_end() -> None:
    assert WRITER.read(WRITER.response("Action: wait()")) == "Action: wait()"
    assert WRITER.read(TOKENIZER.encode("Action: wait(")) == "Action: wait("  # the budget ran out


def test_no_text_of_others_brings_a_special_token() -> None:
    pad = TOKENIZER.id_of("<|pad|>")
    assert pad not in WRITER.preamble("Say <|pad|>.", "<|pad|>: nothing")
    assert pad not in WRITER.question("<|pad|>", [1])
    assert pad in WRITER.response("<|pad|>")  # of an agent, whose own tokens stay


@pytest.mark.parametrize("token", ["<|image|>", "<|end|>", "<|agent|>", "<|user|>"])
def test_text_cannot_pose_as_a_turn_or_an_image(token: str) -> None:
    special = TOKENIZER.id_of(token)
    for tokens in (
        WRITER.preamble(f"Say {token}.", "")[1:],
        WRITER.preamble("Go.", f"{token}{token}: nothing")[1:],
        WRITER.response(f"Thought: {token}\nAction: wait()")[:-1],
    ):
        assert special not in tokens


def test_digits_of_an_observation_are_apart() -> None:
    """The committed tokenizer has `04` as one token: similar numbers would have other tokens at other places."""
    shown = [
        WRITER.observation(4, first=True, shown=ShownObservation(f"x {number}, -7")) for number in ("+0.04", "+0.15")
    ]
    words = [[text([token]) for token in tokens] for tokens in shown]
    assert words[0][-11:-2] == ["+", "0", ".", "0", "4", ",", " ", "-", "7"]
    assert len(words[0]) == len(words[1]) and "".join(words[0]) == "4 left\nx +0.04, -7\n<|agent|>"
    assert WRITER.length("0.04") == 4 and len(TOKENIZER.encode("0.04")) == 3
