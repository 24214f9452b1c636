"""An outcome reward model (ORM): a policy learns to judge recorded trajectories, by single-turn RL.

1. questions: each trajectory's task, its text history and its last five screenshots; levels are held out whole;
2. annotated: supervised training on a few verdicts ("targeted data annotation");
3. before: its verdicts on the held-out trajectories;
4. ppo: the other verdicts are only rewards: 1 where the sampled verdict is the verifier's;
5. after: the same held-out trajectories;
6. calibration: the scores behind these verdicts become probabilities, by one half of the held-out levels; what they are
   worth is told from the other half. The judge `orm` reads the map from RUN/calibration.json.

Every stage goes on where a killed run stopped. Source: UI-TARS-2, 2.5.2, "ORM".
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tars_jax import InputError
from tars_jax.agent.judge_prompt import (
    JudgeQuestion,
    judge_question,
    judgement_trajectory,
    parse_verdict,
    reference_answer,
)
from tars_jax.data.held_out import exclude_held_out, path_and_conditions
from tars_jax.data.recorded import instruction_of, recorded_trajectories
from tars_jax.evaluation import (
    DEFAULT_CURVES,
    ReportData,
    ScoreWording,
    success_difference,
    supervised_curves,
)
from tars_jax.evaluation.calibration_error import Bin, reliability_of
from tars_jax.evaluation.judge_metrics import Confusion, at_threshold, best_threshold, confusion, f1_estimate
from tars_jax.evaluation.report import ReportTable
from tars_jax.evaluation.result import write_result
from tars_jax.evaluation.statistics import bootstrap_difference
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.judges.calibration import FILE as CALIBRATION
from tars_jax.judges.calibration import Calibration, fit_calibration
from tars_jax.judges.reward_model import ScoreReading
from tars_jax.pipelines.config import command_of
from tars_jax.pipelines.job_checks import PPO_EXTENSIONS, check
from tars_jax.pipelines.ppo_stage import learner_at_start, restored
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.stages import supervise
from tars_jax.pipelines.starting_weights import start_from
from tars_jax.rollout.policy_judge import judge
from tars_jax.training.checkpoint import Checkpoints, save_parameters
from tars_jax.training.learner import EpisodeBatch, LearnerState, iterate
from tars_jax.training.packing import rows_of_update
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory

Scored = Sequence[tuple[float | None, bool]]  # the score of a verdict, None where unreadable; the verifier's verdict

EXTENSIONS = PPO_EXTENSIONS


# Of single turns, whose reward is 1 for the verifier's verdict: what PPO calls success.
TITLES = {
    "success": ("Agreement", "verdicts of the batch that are the verifier's"),
    "reward": ("Reward", "per verdict, with format and length shaping"),
    "valid": ("Readable verdicts", "that follow the grammar and say 1 or 0"),
    "explained_variance": ("Explained variance", "of rewards, by the value model on fresh verdicts"),
}
CURVES = tuple(
    dataclasses.replace(curve, title=title, note=note)
    for curve in DEFAULT_CURVES
    if curve.series[0].stage == "ppo"
    for title, note in [TITLES.get(curve.series[0].name, (curve.title, curve.note))]
    if curve.series[0].name not in ("episode_steps", "staleness")  # one, and none
)


@dataclasses.dataclass(frozen=True)
class Questions:
    """Training is balanced between solved and failed; what is held out is as it comes."""

    annotated: list[JudgeQuestion]
    training: list[JudgeQuestion]
    held_out: list[JudgeQuestion]
    too_long: int  # trajectories whose history does not fit


class Judged(NamedTuple):
    """The likeliest verdicts, and the scores that they were read from, None where unreadable."""

    verdicts: Confusion
    scores: list[float | None]


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    with RunContext(config, run_directory, plays=False) as context:
        questions = read_questions(context)
        episodes = [_annotated(context, question) for question in questions.annotated]
        supervise(context, "annotated", episodes, config.annotated)
        before = evaluate(context, "before", context.path / "annotated", questions.held_out)
        reinforce(context, context.path / "annotated", questions.training)
        after = evaluate(context, "after", context.path / "policy", questions.held_out)
        calibration = calibrate(context, questions.held_out, after.scores)
        finish(context, questions, before.verdicts, after.verdicts, calibration)


def read_questions(context: RunContext) -> Questions:
    """Raises InputError where there is too little to learn from or to be tested on."""
    config = context.config
    room = min(config.packing.row_length, config.engine.max_length) - config.engine.max_new_tokens
    asked_for = [path_and_conditions(name) for name in config.trajectories]
    asked = [
        judge_question(each, instruction_of(each), context.writer, config.screenshots)
        for path, where in asked_for
        for each in exclude_held_out(recorded_trajectories([str(path)], context.model.vocabulary), where, path)
    ]
    fitting = [question for question in asked if len(question.tokens) <= room]
    rng = np.random.default_rng(config.seed)
    levels = sorted({_level(question) for question in fitting})
    chosen = {levels[place] for place in rng.permutation(len(levels))[: round(config.held_out * len(levels))]}
    held_out = [question for question in fitting if _level(question) in chosen]
    seen = [question for question in fitting if _level(question) not in chosen]
    sides = [[question for question in seen if question.solved is solved] for solved in (True, False)]
    fewest = min(map(len, sides))
    balanced = [side[place] for side in sides for place in rng.permutation(len(side))[:fewest]]
    mixed = [balanced[place] for place in rng.permutation(len(balanced))]
    count = config.annotated.verdicts
    if not held_out or len(mixed) <= count:
        raise InputError(
            f"config.trajectories must leave more than {count} balanced episodes; got {len(mixed)} and {len(held_out)} "
            f"held out of {len(asked)}, of which {len(asked) - len(fitting)} do not fit packing.row_length"
        )
    return Questions(mixed[:count], mixed[count:], held_out, len(asked) - len(fitting))


def evaluate(context: RunContext, stage: str, weights: Path, held_out: Sequence[JudgeQuestion]) -> Judged:
    grammar, seed = context.config.agent.grammar, context.config.seed
    done = context.run.finished(stage)
    if done:
        return Judged(Confusion(**done["counts"]), done["scores"])
    context.engine.set_weights(start_from(weights, context.parameters), 0)
    likeliest = Sampling(temperature=0, top_logprobs=context.engine.config.top_logprobs)
    judged = judge(context.engine, held_out, context.writer, grammar, seed=seed, sampling=likeliest)
    found = confusion(
        (parse_verdict(episode.steps[-1].response, grammar), question.solved)
        for episode, question in zip(judged, held_out, strict=True)
    )
    f1, shares = f1_estimate(found.verdicts()), found.to_json()
    print(
        f"{stage}: {found.right} of {found.total} verdicts are the verifier's, {found.unreadable} are unreadable, "
        f"F1 {f1.value:.3f} [{f1.low:.3f}, {f1.high:.3f}], "
        f"false positive rate {shares['false_positive_rate']:.3f}"
    )
    scores = [episode.steps[-1].info["score"] for episode in judged]
    context.record(stage, {"counts": dataclasses.asdict(found), "scores": scores})
    return Judged(found, scores)


def calibrate(
    context: RunContext, held_out: Sequence[JudgeQuestion], scores: Sequence[float | None]
) -> Mapping[str, Any]:
    """Fits the map on one half of the levels, and measures it on the other; writes RUN/calibration.json."""
    if done := context.run.finished("calibration"):
        return {name: value for name, value in done.items() if name not in ("seconds", "infrastructure")}
    levels = sorted({_level(question) for question in held_out})
    order = np.random.default_rng((context.config.seed, 1)).permutation(len(levels))
    chosen = {levels[place] for place in order[: len(levels) // 2]}
    fitted, reported = (
        [(score, each.solved) for score, each in zip(scores, held_out, strict=True) if (_level(each) in chosen) is own]
        for own in (True, False)
    )
    read = [(score, solved) for score, solved in fitted if score is not None]
    found = fit_calibration([score for score, _ in read], [solved for _, solved in read])
    write_json(context.path / CALIBRATION, found._asdict())
    result = {**found._asdict(), "fitted_on": len(fitted), **calibration_result(found, fitted, reported)}
    context.record("calibration", result)
    return result


def calibration_result(found: Calibration, fitted: Scored, reported: Scored) -> Mapping[str, Any]:
    """What the map is worth on the trajectories that it was not fitted on: of scores, and of what it makes of
    them, all that `reliability_of` says; and the threshold that has the best F1 on those that it was fitted on."""
    mapped = [(None if score is None else found(score), solved) for score, solved in fitted]
    threshold = best_threshold([score for score, _ in mapped], [solved for _, solved in mapped])
    seen = [(score, solved) for score, solved in reported if score is not None]
    truth, every = [solved for _, solved in seen], [solved for _, solved in reported]
    said = {"scores": [score for score, _ in seen], "calibrated": [found(score) for score, _ in seen]}
    probabilities = [None if score is None else found(score) for score, _ in reported]
    return {
        "reported_on": len(reported),
        **{name: reliability_of(values, truth).to_json() for name, values in said.items()},
        "brier_difference": bootstrap_difference(*(_squared(values, truth) for values in said.values()), paired=True)
        if seen
        else None,
        "at_half": at_threshold(probabilities, every, ScoreReading.threshold).to_json(),
        "best_threshold": threshold if math.isfinite(threshold) else None,
        "at_best_threshold": at_threshold(probabilities, every, threshold).to_json(),
    }


def _squared(probabilities: Sequence[float], truth: Sequence[bool]) -> list[float]:
    return [(probability - solved) ** 2 for probability, solved in zip(probabilities, truth, strict=True)]


def calibration_table(found: Mapping[str, Any]) -> ReportTable:
    """The bins of the reported half, before the map and after it."""
    rows, notes = [], [f"Of {found['reported_on']} trajectories that the map was not fitted on."]
    for name in ("scores", "calibrated"):
        said = found[name]
        notes.append(
            f"{name}: calibration error {said['expected']:.3f} (true probabilities: below "
            f"{said['error_by_chance']:.3f} in 95% of draws), Brier score {said['brier']:.3f}."
        )
        for each in (Bin(**bin) for bin in said["bins"]):
            share = f"{each.solved:.3f} [{each.interval[0]:.2f}, {each.interval[1]:.2f}]"
            rows.append((f"{name}, {each.low:.1f} to {each.high:.1f}", each.scored, f"{each.mean:.3f}", share))
    return ReportTable("Calibration", ("", "trajectories", "mean", "solved [95%]"), rows, " ".join(notes))


def reinforce(context: RunContext, weights: Path, questions: Sequence[JudgeQuestion]) -> None:
    """PPO on episodes of one turn; exports RUN/policy. A resumed update samples what the killed one did."""
    if context.run.finished("ppo"):
        return
    learner, state = learner_at_start(context, weights, None)
    stream = Verdicts(context, questions, Checkpoints(context.path / "checkpoints" / "ppo"))
    state, _ = restored(stream.checkpoints, state)
    context.metrics.truncate_after("ppo", state.version)
    stream.begin(state)
    while state.version < context.config.ppo.updates:
        state, _ = iterate(learner, state, stream, context.config.seed)
    save_parameters(context.path / "policy", state.policy.parameters, parent=weights)
    context.record("ppo", {"updates": state.version})


class Verdicts:
    """A stream of verdicts on the next questions, sampled with the weights that the last update made."""

    def __init__(self, context: RunContext, questions: Sequence[JudgeQuestion], checkpoints: Checkpoints) -> None:
        self._context, self._questions, self.checkpoints = context, questions, checkpoints

    def begin(self, state: LearnerState) -> None:
        self.publish(state)
        updates = self._context.config.ppo.updates
        self._progress = self._context.progress(
            "ppo", updates, "updates", done=state.version, min_seconds=0, compiles=True
        )

    def take(self) -> EpisodeBatch:
        config, engine = self._context.config, self._context.engine
        number, seed = config.ppo.min_batch // config.ppo.group_size, config.seed
        chosen = rows_of_update(self._version, len(self._questions), number, seed)
        asked = [self._questions[place] for place in chosen for _ in range(config.ppo.group_size)]
        writer, grammar = self._context.writer, config.agent.grammar
        return EpisodeBatch(judge(engine, asked, writer, grammar, seed=1000 * seed + self._version))

    def publish(self, state: LearnerState) -> None:
        self._context.engine.set_weights(state.policy.parameters, state.version)
        self._version = state.version

    def metrics(self) -> dict[str, float]:
        return {}

    def save(self, state: LearnerState, metrics: dict[str, float]) -> None:
        self._context.metrics.write("ppo", state.version, metrics)
        self.checkpoints.save(state.version, (state.policy, state.value), {})
        names = ("valid", "entropy", "explained_variance", "informative_groups", "clip_fraction")
        shown = {name: metrics[name] for name in names if name in metrics}
        self._progress.update(state.version, agreement=metrics["success"], **shown)

    def span(self, name: str, **details: int) -> AbstractContextManager[object]:
        return contextlib.nullcontext()


def finish(
    context: RunContext, questions: Questions, before: Confusion, after: Confusion, calibration: Mapping[str, Any]
) -> None:
    """result.json, report.html, and one sentence."""
    difference = success_difference((before.right, before.total), (after.right, after.total))
    result = {
        "score_before": before.right / before.total,
        "score_after": after.right / after.total,
        "episodes": after.total,
        "before": {**before.to_json(), "f1_interval": f1_estimate(before.verdicts())[1:]},
        "after": {**after.to_json(), "f1_interval": f1_estimate(after.verdicts())[1:]},
        "difference": difference._asdict(),
        "calibration": calibration,
        "annotated": len(questions.annotated),
        "training": len(questions.training),
        "held_out": len(questions.held_out),
        "too_long": questions.too_long,
        "minutes": sum(stage["seconds"] for stage in context.run.results().values()) / 60,
        "seed": context.config.seed,
    }
    write_result(
        context.path,
        ReportData(
            title="An outcome reward model",
            subtitle=f"always the commoner verdict: {after.to_json()['majority_accuracy']:.1%}",
            result=result,
            config=context.config.to_dict(),
            tables=(calibration_table(calibration),),
            curves=(*supervised_curves("annotated", "Annotated verdicts"), *CURVES),
            command=command_of("reward_model", context.config),
            counted=ScoreWording(
                "it gave the verifier's verdict on",
                "held-out trajectories",
                rate="agreement with the verifier",
                who="judge",
            ),
        ),
        weights=context.path / "policy",
    )


def _level(question: JudgeQuestion) -> str:
    return json.dumps([question.task["environment"], question.task["seed"], question.task["options"]], sort_keys=True)


def _annotated(context: RunContext, question: JudgeQuestion) -> Trajectory:
    """The question with the right answer, as if the policy had written it."""
    tokens = reference_answer(question, context.writer, context.config.agent.grammar)
    written = Sampled(tokens, (0.0,) * len(tokens), (-1,) * len(tokens))
    return judgement_trajectory(question, written, context.writer, context.config.agent.grammar)
