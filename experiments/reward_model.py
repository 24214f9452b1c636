"""An outcome reward model (ORM): a policy learns to judge recorded trajectories, by single-turn RL.

1. questions: each trajectory's task, its text history and its last five screenshots; levels are held out whole;
2. annotated: supervised training on a few verdicts ("targeted data annotation");
3. before: its verdicts on the held-out trajectories;
4. ppo: the other verdicts are only rewards: 1 where the sampled verdict is the verifier's;
5. after: the same held-out trajectories.

Every stage goes on where a killed run stopped. Source: UI-TARS-2, 2.5.2, "ORM".
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.config import Rule, at_least, between, command_of, one_of
from experiments.job_config import check, imitation_rules, ppo_config
from experiments.lab import Lab
from experiments.stage_job import WEIGHTS, rules_of
from experiments.stages import learner_at_start, supervise
from experiments.starts import start_from
from tars_jax import InputError
from tars_jax.agent.judging import Question, judged_episode, question_about, right_answer, verdict_of
from tars_jax.data.recorded import recorded_trajectories
from tars_jax.evaluation import (
    DEFAULT_CURVES,
    Counted,
    ReportData,
    success_difference,
    supervised_curves,
    verdict,
    write_report,
)
from tars_jax.evaluation.verdicts import Confusion, confusion
from tars_jax.inference import Sampled, Sampling
from tars_jax.rollout.judging import judge
from tars_jax.tasks.library import load_playable
from tars_jax.training.checkpoint import Checkpoints, save_parameters
from tars_jax.training.metrics import Progress, read_metrics
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.training.schedule import rows_of_update
from tars_jax.trajectory import Trajectory

RULES = rules_of("ppo", tasks=False) | {
    "model.preset": WEIGHTS,
    "trajectories": Rule(lambda folders: len(folders) > 0, "one or more folders, such as RUN/trajectories/ppo"),
    "held_out": between(0.05, 0.9),
    "screenshots": at_least(1),
    "ppo.max_staleness": one_of(0),  # verdicts are sampled and learnt from in turns
    "ppo.dynamic_sampling": one_of(False),
    "annotated.verdicts": at_least(1),
    "annotated.updates": at_least(1),
    **imitation_rules("annotated"),
}


@dataclasses.dataclass(frozen=True)
class Questions:
    """Training is balanced between solved and failed; what is held out is as it comes."""

    annotated: list[Question]
    training: list[Question]
    held_out: list[Question]
    too_long: int  # trajectories whose history does not fit


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    with Lab(config, run_directory, plays=False) as lab:
        questions = read_questions(lab)
        episodes = [_annotated(lab, question) for question in questions.annotated]
        supervise(lab, "annotated", episodes, config.annotated)
        before = evaluate(lab, "before", lab.path / "annotated", questions.held_out)
        reinforce(lab, lab.path / "annotated", questions.training)
        after = evaluate(lab, "after", lab.path / "policy", questions.held_out)
        finish(lab, questions, before, after)


def read_questions(lab: Lab) -> Questions:
    """Raises InputError where there is too little to learn from or to be tested on."""
    config = lab.config
    room = min(config.packing.row_length, config.engine.max_length) - config.engine.max_new_tokens
    asked = [
        question_about(each, instruction_of(each), lab.writer, config.screenshots)
        for each in recorded_trajectories(config.trajectories)
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
            f"trajectories: {len(asked)}, of which {len(asked) - len(fitting)} do not fit packing.row_length, leave "
            f"{len(held_out)} held out and {len(mixed)} balanced ones; it takes more than {count} of these."
        )
    return Questions(mixed[:count], mixed[count:], held_out, len(asked) - len(fitting))


def instruction_of(trajectory: Trajectory) -> str:
    return load_playable(trajectory.task["game"]).instruction_for(trajectory.steps[0].info)


def evaluate(lab: Lab, stage: str, weights: Path, held_out: Sequence[Question]) -> Confusion:
    """The likeliest verdicts."""
    grammar, seed = lab.config.agent.grammar, lab.config.seed
    done = lab.run.finished(stage)
    if done:
        return Confusion(**done["counts"])
    lab.engine.set_weights(start_from(weights, lab.parameters), 0)
    judged = judge(lab.engine, held_out, lab.writer, grammar, seed=seed, sampling=Sampling(temperature=0))
    found = confusion(
        (verdict_of(episode.steps[-1].response, grammar), question.solved)
        for episode, question in zip(judged, held_out, strict=True)
    )
    print(f"{stage}: {found.right} of {found.total} verdicts are the verifier's, F1 {found.to_json()['f1']:.3f}")
    lab.record(stage, {"counts": dataclasses.asdict(found)})
    return found


def reinforce(lab: Lab, weights: Path, questions: Sequence[Question]) -> None:
    """PPO on episodes of one turn; exports RUN/policy. A resumed update samples what the killed one did."""
    if lab.run.finished("ppo"):
        return
    config, seed, grammar = lab.config.ppo, lab.config.seed, lab.config.agent.grammar
    algorithm = ppo_config(config)
    learner, policy, value = learner_at_start(lab, weights, None)
    checkpoints = Checkpoints(lab.path / "checkpoints" / "ppo")
    version = checkpoints.latest() or 0
    if version:
        (policy, value), _ = checkpoints.restore(version, (policy, value))
    lab.metrics.truncate_after("ppo", version)
    lab.engine.set_weights(policy.parameters, version)
    progress = Progress("ppo", config.updates, "updates", done=version, min_seconds=0)
    while version < config.updates:
        chosen = rows_of_update(version, len(questions), config.min_batch // config.group_size, seed)
        asked = [questions[place] for place in chosen for _ in range(config.group_size)]
        episodes = judge(lab.engine, asked, lab.writer, grammar, seed=1000 * seed + version)
        policy, value, metrics = learner.update(policy, value, episodes, version, seed)
        version += 1
        lab.engine.set_weights(policy.parameters, version)
        lab.metrics.write("ppo", version, metrics)
        checkpoints.save(version, (policy, value), {})
        learned_from = "explained_variance" if algorithm.uses_values else "informative_groups"
        shown = ("success", "valid", "entropy", learned_from, "clip_fraction")
        progress.update(version, **{name: metrics[name] for name in shown})
    save_parameters(lab.path / "policy", policy.parameters, parent=weights)
    lab.record("ppo", {"updates": version})


def finish(lab: Lab, questions: Questions, before: Confusion, after: Confusion) -> None:
    """result.json, report.html, and one sentence."""
    difference = success_difference((before.right, before.total), (after.right, after.total))
    result = {
        "score_before": before.right / before.total,
        "score_after": after.right / after.total,
        "episodes": after.total,
        "before": before.to_json(),
        "after": after.to_json(),
        "difference": difference._asdict(),
        "annotated": len(questions.annotated),
        "training": len(questions.training),
        "held_out": len(questions.held_out),
        "too_long": questions.too_long,
        "minutes": sum(stage["seconds"] for stage in lab.run.results().values()) / 60,
        "seed": lab.config.seed,
    }
    write_json(lab.path / "result.json", result)
    print(json.dumps(result))
    counted = Counted("it gave the verifier's verdict on", "held-out trajectories")
    report = write_report(
        lab.path,
        ReportData(
            title="An outcome reward model",
            subtitle=f"always the commoner verdict: {after.to_json()['majority_accuracy']:.1%}",
            result=result,
            metrics=read_metrics(lab.path / "metrics.jsonl"),
            config=lab.config.to_dict(),
            curves=(*supervised_curves("annotated", "Annotated verdicts"), *DEFAULT_CURVES),
            command=command_of("reward_model", lab.config),
            counted=counted,
        ),
    )
    print(verdict(result, counted)[1])
    print(f"report: {report}")
    print(f"weights: {lab.path / 'policy'}")


def _level(question: Question) -> str:
    return json.dumps([question.task["game"], question.task["seed"], question.task["options"]], sort_keys=True)


def _annotated(lab: Lab, question: Question) -> Trajectory:
    """The question with the right answer, as if the policy had written it."""
    tokens = right_answer(question, lab.writer, lab.config.agent.grammar)
    written = Sampled(tokens, (0.0,) * len(tokens), (-1,) * len(tokens))
    return judged_episode(question, written, lab.writer, lab.config.agent.grammar)
