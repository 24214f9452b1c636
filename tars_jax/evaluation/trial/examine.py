"""An environment is played, begun again, played again, and called in ways that no player would call it."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Sequence

from tars_jax.agent.grammar_plain import PLAIN
from tars_jax.environment import EnvironmentFailure, Observation, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.evaluation.trial import findings
from tars_jax.evaluation.trial.calls import TriedCall, calls_of, unknown_call
from tars_jax.evaluation.trial.findings import LOOK, OK, WRONG, Finding, counted, quoted
from tars_jax.evaluation.trial.trial_episode import Subject, TrialEpisode, begin, play, repeat, step
from tars_jax.rollout.players import Player, random_player, reference_player

AGAIN = 2  # times that an episode is played again where it was played, besides once anew
CLOSING_S = 10.0  # at least
MOST_SENTENCES = 3  # of calls that failed
PARTS = ("played", "played again", "more seeds", "other calls", "closed")  # of a trial, in order


@dataclasses.dataclass(frozen=True)
class TrialLimits:
    """Limits and settings of a trial."""

    episodes: int  # that are played, the first one included
    seconds: float  # for all behind the first episode, after which no further episode or call begins
    says_limit: bool = True  # the environment says its step limit itself, or the user does
    observation_tokens: int = 0  # of a text, in a window; 0: as many as it takes
    trained_tokens: int = 1024  # of a text, in a window of `train`, unless it is told another number
    image_tokens: Callable[[int, int], int] = lambda height, width: 1  # of a picture in a window
    preset: str = "nano"  # whose tokens these are


@dataclasses.dataclass(frozen=True)
class Trial:
    """Result of a trial. `played` was read from the start; `findings` begin with what is wrong."""

    played: TrialEpisode
    findings: tuple[Finding, ...]

    @property
    def wrong(self) -> int:
        return sum(finding.level == WRONG for finding in self.findings)


async def try_environment(
    subject: Subject,
    task: Task,
    player: Player,
    limits: TrialLimits,
    *,
    on_played: Callable[[TrialEpisode], None] = lambda played: None,
    on_part: Callable[[int], None] = lambda done: None,
) -> Trial:
    """Plays the task by `player`, and looks at all else.

    `on_played`: hears of the first episode as soon as it is over; `on_part`: how many of PARTS are done. Raises
    EnvironmentFailure where no episode can begin, InputError for a task that the environment refuses.
    """
    environment, other = (subject.spec.checked(subject.resources) for _ in range(2))
    found, patience = list[Finding](), CLOSING_S
    try:
        played = await play(subject, environment, task, player)
        patience = max(patience, 2 * played.reset_seconds)  # a computer on a busy machine
        on_played(played)
        on_part(1)
        end = time.monotonic() + limits.seconds
        found += await _again(environment, other, played, end)
        on_part(2)
        differs = any(finding.level != OK for finding in found)
        more, of_more = await _more(subject, other, task, limits, end, compares=not differs)
        found += of_more
        found += await _by_reference(subject, other, played) if subject.spec.reference is not None else []
        on_part(3)
        found += await _called(other, played, subject.agent.grammar, end)
        on_part(4)
    finally:
        closed = [await _closed(each, patience) for each in (environment, other)]
    on_part(5)
    found += next((each for each in closed if each), [])
    found += _told([played, *more], subject, limits)
    order = (WRONG, LOOK, OK)
    return Trial(played, tuple(sorted(found, key=lambda finding: order.index(finding.level))))


def _told(played: Sequence[TrialEpisode], subject: Subject, limits: TrialLimits) -> list[Finding]:
    """Findings from the episodes themselves."""
    first = played[0]
    texts = [[subject.writer.length(observation.text) for observation in each.observations] for each in played]
    tokens = [_tokens(each, limits) for each in played if each.trajectory is not None]
    return [
        *findings.of_failures(played),
        *findings.of_threshold(first, subject.spec),
        *findings.of_judge(played),
        *findings.of_success(played, subject.spec.reference is not None),
        *findings.of_pictures(played),
        *findings.of_text(texts, limits.observation_tokens, limits.trained_tokens),
        *findings.of_instruction(played),
        *findings.of_reading(played),
        *findings.of_effect(first),
        *findings.of_limit(played, limits.says_limit),
        *(findings.of_seeds(played) if subject.spec.levels is None else findings.of_records(subject.spec.levels)),
        *findings.of_time(played, tokens, limits.preset),
    ]


async def _again(
    environment: CheckedEnvironment, other: CheckedEnvironment, played: TrialEpisode, end: float
) -> list[Finding]:
    done, times = played.done, 0 if played.failure else AGAIN
    try:
        again = [await repeat(environment, played.task, done, end) for _ in range(times)]
        return findings.same_by_seed(played, again, await repeat(other, played.task, done, end))
    except EnvironmentFailure as failure:
        return [Finding(WRONG, "reset", f"It cannot begin the same task again: {failure}.")]


async def _more(
    subject: Subject, environment: CheckedEnvironment, task: Task, limits: TrialLimits, end: float, compares: bool
) -> tuple[list[TrialEpisode], list[Finding]]:
    """Episodes by chance of further seeds (even ones where that of the task is, as training has them), and what is to
    be said of those that did not begin, or, with `compares`, went elsewhere when they were played again."""
    player, more, found = random_player(subject.writer, subject.agent.grammar), list[TrialEpisode](), list[Finding]()
    for number in range(1, limits.episodes):
        if time.monotonic() > end or any(each.unjudged for each in more):
            break
        other = dataclasses.replace(task, seed=task.seed + 2 * number, id=f"{task.id}-{number}")
        try:
            more.append(await play(subject, environment, other, player))
            if compares and not found and not more[-1].failure:
                found = findings.same_in_turn(more[-1], await repeat(environment, other, more[-1].done, end))
        except EnvironmentFailure as failure:
            found = [Finding(WRONG, "reset", f"Seed {other.seed} cannot begin: {failure}.")]
    return more, found


async def _by_reference(subject: Subject, environment: CheckedEnvironment, first: TrialEpisode) -> list[Finding]:
    player, task = reference_player(subject.writer, subject.agent.grammar, 1.0), first.task
    try:
        played = await play(subject, environment, task, player)
    except EnvironmentFailure as failure:
        return [Finding(WRONG, "reference", f"Its reference player cannot begin seed {task.seed}: {failure}.")]
    return findings.of_reference(played) if subject.judge is None else findings.of_judged(played, first)


async def _called(environment: CheckedEnvironment, played: TrialEpisode, grammar: str, end: float) -> list[Finding]:
    calls = calls_of(played.space)
    refused = [call for call in calls if call.refused]
    found = list[Finding]()
    if grammar != PLAIN:  # in which whatever is said is the answer
        unknown = f"An unknown call changes nothing, and is answered: {unknown_call(played.space)}."
        found.append(Finding(OK, "calls", unknown))
    if refused and grammar != PLAIN:
        words = f"{counted(len(refused), 'malformed call')} did not come through its schema"
        found.append(Finding(OK, "calls", f"{words}, such as {quoted(refused[0].written)}: {refused[0].refused}."))
    through = [call for call in calls if not call.refused]
    tried, failures = await _carried_out(environment, played.task, through, end)
    left = f" of {len(through)}" if tried < len(through) else ""
    if through and not tried:
        found.append(Finding(LOOK, "calls", "No time was left for calls that no player makes: --config.seconds."))
    if not failures and tried:
        words = f"{counted(tried, 'call')}{left} that its schema admits, odd values among them: all were carried out."
        found.append(Finding(OK, "calls", words))
    for call, failure in failures[:MOST_SENTENCES]:
        found.append(Finding(WRONG, "calls", f"{quoted(call.written)} fits its schema, and fails: {failure}."))
    if len(failures) > MOST_SENTENCES:
        words = f"{len(failures)} of {counted(tried, 'call')} that its schema admits fail."
        found.append(Finding(WRONG, "calls", words))
    return found


async def _carried_out(
    environment: CheckedEnvironment, task: Task, calls: Sequence[TriedCall], end: float
) -> tuple[int, list[tuple[TriedCall, str]]]:
    """Number of calls there was time for, and those that failed, with what was said."""
    failures, running, tried = list[tuple[TriedCall, str]](), False, 0
    for call in calls:
        if time.monotonic() > end:
            break
        tried += 1
        try:
            if not running:
                await begin(environment, task)
            transition = await step(environment, [call.action])
            running = not (transition.terminated or transition.truncated)
        except EnvironmentFailure as failure:
            failures.append((call, str(failure)))
            running = False
    return tried, failures


async def _closed(environment: CheckedEnvironment, patience: float) -> list[Finding]:
    closing = asyncio.ensure_future(environment.close())
    done, _ = await asyncio.wait({closing}, timeout=patience)
    if not done:
        return [Finding(WRONG, "close", f"`close` has not come back within {patience:.3g} s.")]
    if isinstance(failure := closing.exception(), EnvironmentFailure):
        return [Finding(WRONG, "close", f"`close` fails: {failure}.")]
    closing.result()
    return []


def _tokens(played: TrialEpisode, limits: TrialLimits) -> tuple[int, int]:
    """Tokens of all windows of an episode, and of its longest one."""
    assert played.trajectory is not None
    steps = played.trajectory.steps

    def picture(step: int) -> int:
        pixels = Observation(steps[step].screenshot).pixels
        return 0 if pixels is None else limits.image_tokens(*pixels.shape[:2]) - 1  # which stands for one already

    windows = [len(window.tokens) + sum(map(picture, window.images)) for window in played.trajectory.windows]
    return sum(windows), max(windows, default=0)
