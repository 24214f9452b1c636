"""Episodes of others in the windows of the policy that learns from them."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
from PIL import Image

from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.data.retokenized import MARK, EpisodeReader, is_foreign, retokenize
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tars_jax.trajectory.files import decode_trajectory, encode_trajectory

TOKENIZER = load_tokenizer()


def picture(side: int, shade: int) -> bytes:
    png = io.BytesIO()
    Image.fromarray(np.full((side, side, 3), shade, np.uint8)).save(png, "PNG")
    return png.getvalue()


def step(number: int, response: str, action: str, side: int = 320, valid: bool = True) -> Step:
    thought = f"go {number}" if valid else ""
    return Step(
        picture(side, 40 * number), response, thought, action, None, float(number == 2), 9, valid, {"n": number}
    )


def reader(grammar: str = "text", image_tokens: int = 9, memory: MemoryConfig | None = None) -> EpisodeReader:
    agent = AgentConfig(grammar, memory or MemoryConfig(0, 0, 0))
    return EpisodeReader(
        PromptWriter(TOKENIZER, image_tokens), agent, TOKENIZER.image, TOKENIZER.vocabulary, lambda *_: (96, 96)
    )


def window(image_tokens: int) -> ContextWindow:
    tokens = np.array([*TOKENIZER.encode("<|user|>"), *[TOKENIZER.image] * image_tokens, 1], np.int32)
    column = np.zeros(tokens.size, np.int32)
    return ContextWindow(
        tokens, np.arange(tokens.size) == tokens.size - 1, column.astype(np.float32), column - 1, column, (0,)
    )


# Three turns of an endpoint: a click in its own words, an answer that nobody could read, another click.
STEPS = (
    step(0, "Thought: go 0\nAction: click(start_box='(5,5)')", "click(point='<point>5 5</point>')"),
    step(1, "I do not know", "", valid=False),
    step(2, "Thought: go 2\nAction: click(point='<point>7 7</point>')", "click(point='<point>7 7</point>')"),
)
EPISODE = Trajectory(
    "e",
    {"environment": "maze_path_of_light", "max_steps": 6},
    (window(1),),
    STEPS,
    Outcome.FINISHED,
    1.0,
    {"final": {}},
)


@pytest.mark.parametrize("grammar", ["text", "tool"])
def test_an_endpoints_episode_is_written_for_the_learner(grammar: str) -> None:
    ours = retokenize(EPISODE, "Find the way.", reader(grammar))
    assert (ours.outcome, ours.reward, ours.metadata[MARK]) == (Outcome.FINISHED, 1.0, True)
    assert [each.info for each in ours.steps] == [{"n": 0}, {"n": 1}, {"n": 2}] and ours.steps[2].reward == 1
    assert len(ours.windows) == 3 and not is_foreign(ours, reader(grammar)) and is_foreign(EPISODE, reader(grammar))
    for number, seen in enumerate(ours.windows):
        assert (seen.tokens == TOKENIZER.image).sum() == 9 and seen.images == (number,)
        assert set(seen.versions[seen.action_mask]) == {-1} and set(seen.log_probs) == {0}
        assert TOKENIZER.decode(seen.tokens[seen.action_mask].tolist()) == ours.steps[number].response + "<|end|>"
    assert ("<function=click>" in ours.steps[0].response) == (grammar == "tool")
    assert ours.steps[1].response == "I do not know"
    assert f"{6 - 2} left" in TOKENIZER.decode(ours.windows[2].tokens.tolist())  # of the budget that it was played with
    assert Image.open(io.BytesIO(ours.steps[0].screenshot)).size == (96, 96)
    assert decode_trajectory(encode_trajectory(ours)).metadata[MARK] is True


def test_its_windows_are_those_of_the_learners_memory() -> None:
    ours = retokenize(EPISODE, "Find the way.", reader(memory=MemoryConfig(1, 2, 4)))
    assert [each.images for each in ours.windows] == [(0, 1, 2)]
    summarized = retokenize(EPISODE, "Find the way.", reader(memory=MemoryConfig(0, 0, 4)))
    assert "Earlier: go 0" in TOKENIZER.decode(summarized.windows[1].tokens.tolist())


def test_what_the_learner_could_have_sampled_itself_stays_as_it_is() -> None:
    seen = tuple(dataclasses.replace(each, screenshot=picture(96, 7)) for each in STEPS)
    own = dataclasses.replace(EPISODE, windows=(window(9),), steps=seen)
    assert not is_foreign(own, reader())
    assert is_foreign(own, reader(image_tokens=4))
    assert is_foreign(dataclasses.replace(own, steps=STEPS), reader())  # of another screen
