"""Findings about episodes that were played: one sentence each, with the value.

Pure functions of what was seen. What it takes to see more (further resets, calls that no player makes) is in
`examine.py`.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

import numpy as np

from tars_jax.environment import Observation, Transition
from tars_jax.envs.spec import EnvironmentSpec, Levels
from tars_jax.evaluation.trial.trial_episode import TrialEpisode

OK, LOOK, WRONG = "ok", "look", "wrong"  # as it should be; for somebody to think about; to be mended
_QUOTED = 60  # characters of a text, in a sentence


@dataclasses.dataclass(frozen=True)
class Finding:
    level: str  # one of OK, LOOK, WRONG
    about: str
    sentence: str


def quoted(text: str) -> str:
    """A text within a sentence."""
    short = text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"
    return repr(short)


def counted(number: int, what: str) -> str:
    """1 step, 2 steps."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def difference(one: Observation, other: Observation) -> str:
    """The difference of two observations in words; empty: none."""
    if one.text != other.text:
        return f"the text {quoted(one.text)} and {quoted(other.text)}"
    if one.screenshot == other.screenshot:
        return ""
    sizes = [_size(each) for each in (one, other)]
    if sizes[0] != sizes[1]:
        return f"a picture of {sizes[0]} and one of {sizes[1]}"
    assert one.pixels is not None and other.pixels is not None
    differing = int(np.any(one.pixels != other.pixels, axis=2).sum())
    height, width = one.pixels.shape[:2]
    return f"{differing:,} of {height * width:,} pixels" if differing else ""


def transition_difference(one: Transition, other: Transition) -> str:
    """The difference of two transitions in words; empty: none."""
    for name in ("reward", "terminated", "truncated", "success"):
        values = getattr(one, name), getattr(other, name)
        if values[0] != values[1]:
            return f"{name} {values[0]} and {values[1]}"
    return difference(one.observation, other.observation)


def first_divergence(one: TrialEpisode, other: TrialEpisode) -> tuple[int, str]:
    """The first turn, from 1, after which two plays of the same actions differ, and in what; (0, ""): none."""
    pairs = zip(one.transitions, other.transitions, strict=False)
    for number, (first, second) in enumerate(pairs, start=1):
        if said := transition_difference(first, second):
            return number, said
    if other.failure and not one.failure:
        return len(other.transitions) + 1, f"a failure, {other.failure}"
    return 0, ""


def same_by_seed(played: TrialEpisode, again: Sequence[TrialEpisode], anew: TrialEpisode) -> list[Finding]:
    """`again`: the same task and actions in the environment that has played before; `anew`: in a new one."""
    seed = played.task.seed
    if said := difference(played.first, anew.first):
        return [Finding(WRONG, "seed", f"The task of seed {seed} does not begin the same in two environments: {said}.")]
    if played.instruction != anew.instruction:
        both = f"{quoted(played.instruction)} and {quoted(anew.instruction)}"
        return [Finding(WRONG, "seed", f"The task of seed {seed} has two instructions, {both}.")]
    if said := next(filter(None, (difference(played.first, each.first) for each in again)), ""):
        return [Finding(WRONG, "reset", f"A reset does not clean: after an episode, seed {seed} begins with {said}.")]
    times = 2 + len(again)
    found = [Finding(OK, "seed", f"Seed {seed} begins the same {times} times, byte for byte, as seen and as asked.")]
    if played.first.screenshot != anew.first.screenshot:
        found = [Finding(OK, "seed", f"Seed {seed} begins with the same pixels {times} times, in other bytes.")]
    step, said = first_divergence(played, anew)
    if step:
        words = f"The same actions lead elsewhere in a new environment, from step {step} on: {said}."
        return [*found, Finding(LOOK, "seed", f"{words} Is all that is drawn drawn from the task's seed?")]
    for each in again:
        step, said = first_divergence(played, each)
        if step:
            words = "A reset does not clean, or something is drawn without the task's seed: after an episode, the same "
            words += f"actions lead elsewhere from step {step} on: "
            return [*found, Finding(WRONG, "reset", f"{words}{said}.")]
    if anew.transitions:
        steps = counted(len(anew.transitions), "step")
        found.append(Finding(OK, "seed", f"The same actions lead to the same {times} times, {steps} long."))
    return found


def same_in_turn(played: TrialEpisode, again: TrialEpisode) -> list[Finding]:
    """Findings where the same actions of a further seed are repeated in the same environment."""
    step, said = first_divergence(played, again)
    words = f"Seed {played.task.seed}: the same actions lead elsewhere from step {step} on: {said}."
    return [Finding(WRONG, "seed", f"{words} Is all that is drawn drawn from the task's seed?")] if step else []


def of_seeds(played: Sequence[TrialEpisode]) -> list[Finding]:
    """Whether tasks differ by their seeds."""
    if len(played) < 2:
        return []
    begun = {(each.instruction, each.first.text, each.first.screenshot) for each in played}
    if len(begun) == 1:
        return [Finding(LOOK, "seeds", f"All of {len(played)} seeds begin alike: is the task's seed used?")]
    return [Finding(OK, "seeds", f"{len(played)} seeds begin in {len(begun)} ways.")]


def of_records(levels: Levels) -> list[Finding]:
    """Finding of how many tasks there are, where they are counted."""
    train, held_out = (levels.count(split) for split in ("train", "eval"))
    said = f"{counted(train, 'record')} to train on, {held_out} held out for evaluation."
    return [Finding(OK if train > 1 and held_out else LOOK, "records", said)]


def of_failures(played: Sequence[TrialEpisode]) -> list[Finding]:
    found = dict[str, Finding]()
    for each in played:
        if each.failure:
            last = f" on {quoted(each.turns[-1].response.strip())}" if each.turns else ""
            steps = counted(len(each.transitions), "step")
            said = f"It failed after {steps} of seed {each.task.seed}{last}: {each.failure}."
            found.setdefault(each.failure, Finding(WRONG, "failure", said))
    return list(found.values())


def of_pictures(played: Sequence[TrialEpisode]) -> list[Finding]:
    sizes = {_size(observation) for each in played for observation in each.observations}
    if len(sizes) > 1:
        return [Finding(WRONG, "pictures", f"Its pictures change their size: {', '.join(sorted(sizes))}.")]
    return []


def of_text(tokens: Sequence[Sequence[int]], bound: int, most: int) -> list[Finding]:
    """`tokens`: of the text of each observation, by episode. `bound`: what a window holds of each; 0: as much as it
    takes, but at most `most` unless told. A task whose first text is cut cannot be read; what programs say without end
    may well be cut."""
    every = [count for episode in tokens for count in episode]
    longest = max(every, default=0)
    if not longest:
        return []
    observations = counted(len(every), "observation")
    over = sum(count > bound for count in every)
    if bound and over:
        level = WRONG if any(episode[0] > bound for episode in tokens) else LOOK
        words = f"A window cuts the text of {over} of {observations} to {bound} tokens; the longest takes {longest}"
        return [Finding(level, "text", f"{words}: --config.agent.max_observation_tokens={longest}.")]
    if not bound and longest > most:
        words = f"The longest text of {observations} takes {longest:,} tokens: `train` cuts it to {most:,}, and with "
        words += (
            f"--config.agent.max_observation_tokens={longest} the policy computes {longest / most:.1f} times as many"
        )
        return [Finding(LOOK, "text", f"{words}, in each step that shows it.")]
    return [Finding(OK, "text", f"The longest text of {observations} takes {longest} tokens.")]


def of_success(played: Sequence[TrialEpisode], has_reference: bool) -> list[Finding]:
    """Whether success is told, can be had, and goes with the rewards."""
    ended = [each for each in played if each.trajectory is not None]
    told = [each for each in ended if each.success is not None]
    if ended and not told:
        judged = [each.trajectory for each in ended if each.trajectory and "judge" in each.trajectory.metadata]
        if judged:
            if all(each.cannot_say for each in judged):
                return []
            return [Finding(OK, "success", "Its reward functions give no verdict: rewards alone tell.")]
        by = ended[0].task.verification.by
        if by == "judge":
            return [Finding(OK, "success", "A judge says what success is.")]
        words = "Nobody says what success is: no step has `success`, and there is no threshold and no judge."
        return [Finding(LOOK, "success", words)]
    solved, failed = ([each.total for each in told if each.success is it] for it in (True, False))
    if solved and failed and max(failed) > min(solved):
        words = f"an episode that failed has a return of {max(failed):g}, one that succeeded {min(solved):g}"
        return [Finding(WRONG, "success", f"Success contradicts the rewards: {words}.")]
    if solved and not any(step.reward > 0 for each in told if each.trajectory for step in each.trajectory.steps):
        return [Finding(LOOK, "success", f"It says success at a return of {max(solved):g}: no reward was above 0.")]
    if told and not solved and not has_reference:
        limit = counted(played[0].task.max_steps, "step")
        words = f"None of {counted(len(told), 'episode')} ended with success, within {limit}"
        return [Finding(LOOK, "success", f"{words}: nobody has shown that it can be had.")]
    if told:
        return [Finding(OK, "success", f"{len(solved)} of {counted(len(told), 'episode')} ended with success.")]
    return []


def of_threshold(played: TrialEpisode, spec: EnvironmentSpec) -> list[Finding]:
    """Whether the least return of a success can be had within the step limit, by the rewards that were seen."""
    largest = max((transition.reward for transition in played.transitions), default=0.0)
    doubt = spec.doubt_of_limit(played.task, largest) if largest > 0 else ""
    return [Finding(WRONG, "threshold", f"{doubt}.")] if doubt else []


def of_limit(played: Sequence[TrialEpisode], own: bool) -> list[Finding]:
    """`own`: the environment says its limit itself."""
    limit = played[0].task.max_steps
    whole = [each for each in played if each.trajectory is not None]
    out = [each for each in whole if not any(transition.terminated for transition in each.transitions)]
    found = [] if own else [Finding(LOOK, "limit", f"It does not say `max_steps`, so that {limit} is taken.")]
    if whole and len(out) == len(whole):
        words = f"No episode ended by itself: all {len(whole)} ran into a limit, {counted(limit, 'step')} at most."
        found.append(Finding(LOOK, "limit", words))
    return found


def of_effect(played: TrialEpisode) -> list[Finding]:
    texts = {(each.text, each.screenshot) for each in played.observations}
    if len(played.transitions) > 2 and len(texts) == 1:
        steps = counted(len(played.transitions), "step")
        return [Finding(LOOK, "effect", f"Nothing that is seen has changed in {steps}.")]
    return []


def of_instruction(played: Sequence[TrialEpisode]) -> list[Finding]:
    if any(not each.instruction for each in played):
        return [Finding(LOOK, "instruction", "It has no instruction: --config.task.instruction says one in training.")]
    return []


def of_reading(played: Sequence[TrialEpisode]) -> list[Finding]:
    """Answers of the player that could not be read."""
    refused = [turn for each in played for turn in each.turns if turn.refused]
    if not refused:
        return []
    turns = sum(len(each.turns) for each in played)
    answer, why = quoted(refused[0].response.strip()), refused[0].refused
    if all(turn.refused for turn in played[0].turns):
        words = (
            f"None of {counted(len(played[0].turns), 'answer')} of the player could be read, such as {answer}: {why}"
        )
        return [Finding(WRONG, "answers", f"{words}.")]
    return [Finding(LOOK, "answers", f"{len(refused)} of {turns} answers could not be read, such as {answer}: {why}.")]


def of_reference(played: TrialEpisode) -> list[Finding]:
    seed = played.task.seed
    if played.success:
        return [Finding(OK, "reference", f"Its reference player solves seed {seed}.")]
    said = "fails" if played.success is False else "is not said to solve"
    return [Finding(WRONG, "reference", f"Its reference player {said} seed {seed}.")]


def of_judged(shown: TrialEpisode, played: TrialEpisode) -> list[Finding]:
    """Findings from a judge's verdicts on the reference player's episode, such as a record's own answer, and on the one
    that was shown of the same task."""
    found = of_judge([shown])
    if shown.trajectory is None or found:
        return found or of_failures([shown])
    earned = _earned(shown)
    by_other = f" The episode that is shown earns {_earned(played)}." if played.trajectory else ""
    told = {True: ", with success", False: ", without success", None: ""}[shown.success]
    sentence = f"Its reference player earns {earned} of seed {shown.task.seed}{told}.{by_other}"
    less = played.trajectory is not None and not played.unjudged and shown.total < played.total
    return [Finding(LOOK if shown.success is False or less else OK, "reference", sentence)]


def of_judge(played: Sequence[TrialEpisode]) -> list[Finding]:
    """Whether its judge says something of its episodes."""
    found, of = list[Finding](), counted(len(played), "episode")
    if failed := [each.unjudged for each in played if each.unjudged]:
        found.append(Finding(WRONG, "judge", f"{len(failed)} of {of} could not be judged: {failed[0]}."))
    if untold := [each.trajectory.cannot_say for each in played if each.trajectory and each.trajectory.cannot_say]:
        words = f"Of {len(untold)} of {of} its judge cannot say, and they count nowhere: {untold[0]}."
        found.append(Finding(LOOK, "judge", words))
    return found


def _earned(played: TrialEpisode) -> str:
    """The return, and the value of each reward function of it."""
    values = {} if played.trajectory is None else played.trajectory.metadata.get("rewards", {})
    listed = ", ".join(f"{name} {value:.3g}" for name, value in values.items())
    return f"{played.total:.3g}{f' ({listed})' * bool(listed)}"


def of_time(played: Sequence[TrialEpisode], tokens: Sequence[tuple[int, int]], preset: str) -> list[Finding]:
    """`tokens`: of each whole episode, all and those of its longest window."""
    resets = statistics.median(each.reset_seconds for each in played)
    steps = [turn.seconds for each in played for turn in each.turns if turn.transition is not None]
    long = f"A reset takes {resets:.2g} s"
    if steps:
        long += f", a step {statistics.median(steps):.2g} s (medians of {len(played)} and {len(steps)})"
    found = [Finding(OK, "time", f"{long}.")]
    if tokens:
        whole, longest = (statistics.median(side) for side in zip(*tokens, strict=True))
        words = f"An episode takes {whole:,.0f} tokens of {preset}, its longest window {longest:,.0f}"
        found.append(Finding(OK, "tokens", f"{words} (medians of {len(tokens)})."))
    return found


def _size(observation: Observation) -> str:
    if observation.pixels is None:
        return "no picture"
    height, width = observation.pixels.shape[:2]
    return f"{width}x{height}"
