"""An outcome reward model in the agent's own words: a whole trajectory as one question, the verdict as its answer.

The question is the task, the full history of thoughts, actions and what the environment said in text, and the last
screenshots; the answer is a call of the agent's grammar, finished(content='1') or finished(content='0'), with whatever
thought goes before it (UI-TARS-2, 2.5.2: "the full text history together with the last five screenshots"). So whoever
acts can judge, and learns it by the same learner: a judged trajectory is an episode of a single turn. How sure it is
stands in the probabilities of the two verdicts where it wrote one, after its thought.

Axes: T tokens of the window, S screenshots of the question.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Protocol

from tars_jax.agent.actions import Finished
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.observations import truncate_middle
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import ParseError, Response
from tars_jax.agent.window import SampledResponse, WindowBuilder
from tars_jax.environment import Observation
from tars_jax.trajectory import Outcome, Step, Trajectory

SCREENSHOTS = 5
FINAL_TOKENS = 64  # of the last observation's text, which no policy has bounded
ALTERNATIVES = 20  # likeliest tokens to record beside each one of an answer, so that both verdicts are among them


class JudgeAnswer(SampledResponse, Protocol):
    """A judge's answer, with the top_logprobs of each token where they were recorded."""

    @property
    def likeliest(self) -> Sequence[Sequence[tuple[int, float]]]:
        """Most likely tokens at each position with their log-probabilities, in descending order; empty where none were
        recorded."""
        ...


@dataclasses.dataclass(frozen=True)
class JudgeQuestion:
    """Prompt of the judge."""

    id: str  # of the judged trajectory
    task: dict[str, Any]
    tokens: tuple[int, ...]
    screenshots: tuple[bytes, ...]  # [S] PNG, the last one is the newest; none where the environment has text alone
    steps: int  # of the judged trajectory
    solved: bool  # the verifier's verdict: what the judge's answer is compared with


def judge_question(
    trajectory: Trajectory, instruction: str, writer: PromptWriter, screenshots: int = SCREENSHOTS
) -> JudgeQuestion:
    """The question whether `trajectory`, which was to follow `instruction`, did."""
    seen = (*(step.screenshot for step in trajectory.steps), trajectory.final_screenshot)
    shown = tuple(filter(None, seen))[-screenshots:]
    said = [part for step in trajectory.steps for part in (step.text, step.response)]
    last = truncate_middle(trajectory.final_text, FINAL_TOKENS, lambda text: len(writer.codec.encode(text)))
    text = "\n".join([instruction, *filter(None, [*said, last]), "1 or 0?"])
    tokens = writer.question(text, [writer.shown(Observation(screenshot)).image_tokens for screenshot in shown])
    return JudgeQuestion(
        trajectory.id, trajectory.task, tuple(tokens), shown, len(trajectory.steps), bool(trajectory.verified_success)
    )


def parse_verdict(text: str, grammar: str) -> bool | None:
    """Verdict of an answer; None for one that says neither 1 nor 0, both, or anything else."""
    parsed = parse_response(text, grammar=grammar)
    if isinstance(parsed, ParseError):
        return None
    said = {each.content.strip() if isinstance(each, Finished) else "" for each in parsed.actions}
    return {"1": True, "0": False}.get(said.pop()) if len(said) == 1 else None


def success_probability(answer: JudgeAnswer, writer: PromptWriter, grammar: str) -> float | None:
    """Probability of success by an answer: of the probabilities of "1" and "0" at the verdict, the share of "1", given
    what was written before. None for one without a verdict.

    Beside a verdict whose opposite is not among the recorded alternatives, the opposite has the probability of the last
    of these, which is the most that it can have; where nothing was recorded, the verdict is sure.
    """
    verdict = parse_verdict(writer.read(answer.tokens), grammar)
    if verdict is None:
        return None
    found = _verdict_place(answer.tokens, writer, grammar, verdict)
    if found is None or not answer.likeliest:
        return float(verdict)
    place, opposite = found
    log_probs = dict(answer.likeliest[place])
    own, least = log_probs.get(answer.tokens[place], answer.log_probs[place]), min(log_probs.values())
    share = 1 / (1 + math.exp(min(log_probs.get(opposite, least) - own, 700.0)))
    return share if verdict else 1 - share


def _verdict_place(tokens: Sequence[int], writer: PromptWriter, grammar: str, verdict: bool) -> tuple[int, int] | None:
    """Position of the verdict, and the token that would turn it there; None where it is no token of its own."""
    said, other = (writer.codec.encode(str(int(each))) for each in (verdict, not verdict))
    for place in range(len(tokens) - 1, -1, -1):
        if [tokens[place]] == said and len(other) == 1:
            turned = (*tokens[:place], *other, *tokens[place + 1 :])
            if parse_verdict(writer.read(turned), grammar) is not verdict:
                return place, other[0]
    return None


def reference_answer(question: JudgeQuestion, writer: PromptWriter, grammar: str) -> tuple[int, ...]:
    """The tokens of the verifier's verdict, as an annotator would have written it."""
    response = Response(f"{question.steps} steps", (Finished(str(int(question.solved))),))
    return tuple(writer.response(format_response(response, grammar=grammar)))


def judgement_trajectory(
    question: JudgeQuestion, sampled: JudgeAnswer, writer: PromptWriter, grammar: str
) -> Trajectory:
    """The judgement as an episode of one turn, whose reward is 1 where the verdict is the verifier's.

    Its screenshots are steps that nobody answered; the last one's answer is the verdict, whose score
    (`success_probability`) is in its `info`.
    """
    text = writer.read(sampled.tokens)
    parsed, verdict = parse_response(text, grammar=grammar), parse_verdict(text, grammar)
    thought = "" if isinstance(parsed, ParseError) else parsed.thought
    success = verdict is question.solved
    reward = float(success)
    last = max(len(question.screenshots) - 1, 0)
    looked_at = [Step(screenshot, "", "", "", None, 0.0, 0, True, {}) for screenshot in question.screenshots[:-1]]
    judged = Step(
        screenshot=question.screenshots[-1] if question.screenshots else b"",
        response=text,
        thought=thought,
        action="" if verdict is None else str(int(verdict)),
        point=None,
        reward=reward,
        think_tokens=len(writer.codec.encode(thought)),
        valid=verdict is not None,
        info={"solved": question.solved, "score": success_probability(sampled, writer, grammar)},
    )
    window = WindowBuilder()
    window.read(question.tokens, last)
    window.wrote(sampled, last)
    window.images += range(len(question.screenshots))
    task = {**question.task, "id": question.id, "max_steps": 1}  # to judge this trajectory is a task of its own
    return Trajectory(
        question.id, task, (window.build(),), (*looked_at, judged), Outcome.FINISHED, reward, success=success
    )
