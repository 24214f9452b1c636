"""A trajectory as a question, and its verdict as an episode of one turn."""

import dataclasses
import io
import math
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tars_jax.agent.actions import Finished
from tars_jax.agent.grammar import format_response
from tars_jax.agent.judge_prompt import (
    JudgeQuestion,
    judge_question,
    judgement_trajectory,
    parse_verdict,
    reference_answer,
    success_probability,
)
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import Response
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.trajectory import Outcome, Step, Trajectory
from tars_jax.trajectory.files import decode_trajectory, encode_trajectory

TOKENIZER = load_tokenizer()
WRITER = PromptWriter(TOKENIZER, 2)
IMAGE = "<|vision_start|><|image|><|image|><|vision_end|>"


def png(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (shade,) * 3).save(file, "PNG")
    return file.getvalue()


def played(steps: int, reward: float = 1.0) -> Trajectory:
    seen = tuple(
        Step(png(number), f"Thought: {number}\nAction: wait()", str(number), "wait()", None, 0.0, 1, True, {})
        for number in range(steps)
    )
    return Trajectory(
        "made",
        {"environment": "maze"},
        (),
        seen,
        Outcome.FINISHED,
        reward,
        final_screenshot=png(99),
        success=reward > 0,
    )


def sampled(text: str) -> Sampled:
    tokens = tuple(TOKENIZER.encode(text + "<|end|>"))
    return Sampled(tokens, tuple(-0.5 for _ in tokens), tuple(3 for _ in tokens))


def test_the_question_holds_the_whole_text_and_the_last_screenshots() -> None:
    question = judge_question(played(3), "Do it.", WRITER, screenshots=2)
    assert TOKENIZER.decode(question.tokens) == (
        "<|user|>Do it.\nThought: 0\nAction: wait()\nThought: 1\nAction: wait()\nThought: 2\nAction: wait()\n1 or 0?\n"
        + IMAGE * 2
        + "<|agent|>"
    )
    assert question.screenshots == (png(2), png(99)) and question.solved and question.steps == 3
    assert len(judge_question(played(9), "", WRITER).screenshots) == 5
    without = dataclasses.replace(played(1, reward=0.0), final_screenshot=b"")
    assert judge_question(without, "", WRITER).screenshots == (png(0),)
    assert not judge_question(without, "", WRITER).solved


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_the_right_answer_says_the_verifiers_verdict(grammar: str, reward: float) -> None:
    question = judge_question(played(4, reward), "", WRITER)
    text = WRITER.read(reference_answer(question, WRITER, grammar))
    assert parse_verdict(text, grammar) is (reward > 0) and "4 steps" in text


@pytest.mark.parametrize(
    "text",
    [
        "", "1", "Action: wait()", "Action: finished(content='')", "Action: finished(content='yes')",
        "Action: finished(content='1')\nfinished(content='0')", "Action: finished(content='1')\n\nwait()",
        "Action: finished(content='0')\nAction: finished(content='1')",
    ],
)  # fmt: skip
def test_what_says_neither_is_no_verdict_and_never_right(text: str) -> None:
    assert parse_verdict(text, "text") is None
    for reward in (0.0, 1.0):
        episode = judgement_trajectory(judge_question(played(2, reward), "", WRITER), sampled(text), WRITER, "text")
        assert episode.reward == 0 and not episode.steps[-1].valid


def answer(grammar: str, verdict: int, thought: str, one: float | None, zero: float | None) -> Sampled:
    """With probabilities of "1" and "0" beside the verdict; None: not among the alternatives, the last one has .05.
    Tokens of the thought, digits too, have others."""
    response = Response(thought, (Finished(str(verdict)),))
    tokens = tuple(WRITER.response(format_response(response, grammar=grammar)))
    digits = {"1": TOKENIZER.encode("1")[0], "0": TOKENIZER.encode("0")[0]}
    place = max(place for place, token in enumerate(tokens) if token in digits.values())
    beside = [[(token, -0.1), (7, -3.0)] for token in tokens]
    there = {digits["1"]: one, digits["0"]: zero, 9: 0.05}
    beside[place] = [(token, math.log(share)) for token, share in there.items() if share is not None]
    log_probs = tuple(-0.1 for _ in tokens)
    return Sampled(tokens, log_probs, (0,) * len(tokens), likeliest=tuple(map(tuple, beside)))


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize(
    ("verdict", "one", "zero", "score"),
    [
        (1, 0.6, 0.2, 0.75),  # .6 / (.6 + .2): what else could come there does not count
        (0, 0.2, 0.6, 0.25),
        (1, 0.9, None, 0.9 / 0.95),  # the other has .05 at most
        (0, None, 0.45, 0.1),
        (1, 0.3, 0.3, 0.5),
    ],
)
def test_a_score_is_the_share_of_success_where_the_verdict_stands(
    grammar: str, verdict: int, one: float, zero: float, score: float
) -> None:
    said = answer(grammar, verdict, "10 steps, 1 of 0", one, zero)
    assert success_probability(said, WRITER, grammar) == pytest.approx(score)
    judged = judgement_trajectory(judge_question(played(2), "", WRITER), said, WRITER, grammar)
    assert judged.steps[-1].info == {"solved": True, "score": pytest.approx(score)}


def test_without_alternatives_a_verdict_is_sure_and_without_a_verdict_there_is_no_score() -> None:
    said = answer("text", 1, "", 0.6, 0.2)
    assert success_probability(dataclasses.replace(said, likeliest=()), WRITER, "text") == 1.0
    assert success_probability(sampled("Action: wait()"), WRITER, "text") is None


@pytest.mark.parametrize(("solved", "said", "reward"), [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_a_judged_episode_is_one_turn_rewarded_for_agreement(solved: int, said: int, reward: int) -> None:
    question: JudgeQuestion = judge_question(played(3, float(solved)), "Do it.", WRITER)
    answer: Any = sampled(f"Thought: well\nAction: finished(content='{said}')")
    episode = judgement_trajectory(question, answer, WRITER, "text")
    (window,) = episode.windows
    assert tuple(window.tokens) == (*question.tokens, *answer.tokens)
    assert (
        tuple(window.tokens[window.action_mask]) == answer.tokens and (window.versions[window.action_mask] == 3).all()
    )
    np.testing.assert_array_equal(window.log_probs, np.where(window.action_mask, np.float32(-0.5), 0))
    assert window.images == (0, 1, 2, 3) and [step.screenshot for step in episode.steps] == list(question.screenshots)
    assert episode.reward == reward == sum(step.reward for step in episode.steps)
    assert set(window.steps[window.action_mask]) == {3} and episode.steps[3].thought == "well"
    assert decode_trajectory(encode_trajectory(episode)).steps == episode.steps
