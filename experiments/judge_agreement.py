"""A judge is measured by labels of people, or by what the environments of recorded episodes said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.data.recorded import labelled_episodes, labelled_traces
from tars_jax.evaluation.judge_agreement import JudgedLabel, ask_judge, judge_agreement
from tars_jax.files import write_atomic
from tars_jax.judges.labels import agreement, read_agent_reward_bench, read_answers, settled, shipped_answers
from tars_jax.judges.labels.judgments import Judgment, read_judgments
from tars_jax.judges.labels.labelled import SETS, Labelled
from tars_jax.judges.labels.online_mind2web_runs import read_evaluations, read_labelled_runs
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.judges import named_judge
from tars_jax.training.progress import Progress, working
from tars_jax.training.run_directory import RunDirectory, write_json

WITH_JUDGMENTS = ("agent_reward_bench", "online_mind2web")


def run(config: Any, run_directory: RunDirectory) -> None:
    if config.judgments and config.labels not in WITH_JUDGMENTS:
        wanted = " or ".join(WITH_JUDGMENTS)
        raise InputError(f"config.labels must be {wanted} where judgments are read; got {config.labels!r}")
    judge = None if config.judgments else named_judge(config.judge, config.judge_options, "config")
    with naming("config.source", "source"):
        labelled = read_labels(config)
    with naming("config.judgments", "judgments"):
        said = {each.labelled.id: each for each in labelled_judgments(config, labelled)}
    if said:
        labelled = [each.labelled for each in said.values()]
    labels = settled(labelled, config.contradiction)
    if config.most and len(labels) > config.most:
        drawn = np.random.default_rng(config.seed).permutation(len(labels))[: config.most]
        labels = [labels[place] for place in sorted(drawn)]
    what = "answers" if config.labels == "answers" else "trajectories"
    if not labels:
        raise InputError(f"config.source must hold labelled {what}; got none in {config.source}")
    agreed, twice = agreement(labelled)
    print(f"{len(labels)} {what} of {len(labelled)}, {twice} labelled twice or more, of which {agreed} agree")
    if judge is None:
        judged = [recorded_verdict(said[each.id], solved) for each, solved in labels]
    else:
        progress = Progress("judge", len(labels), what)
        try:
            judged = asyncio.run(ask_judge(judge, labels, parallel=config.parallel, on_answer=progress.update))
        finally:
            judge.close()
    with working("intervals"):
        found = judge_agreement(judged, config.judge, config.seed, has_steps=config.labels != "answers")
    labelled_by = SETS[config.labels]
    table = f"Measured on {labelled_by.name}; labelled by {labelled_by.made_by}.\n\n{found.table(config.judge)}"
    failures = {each.labelled.id: each.failure for each in judged if each.failure}
    verdicts = {each.labelled.id: [each.verdict, each.solved] for each in judged}
    path = Path(run_directory.path)
    write_json(
        path / "result.json",
        {
            "set": {**labelled_by._asdict(), what: len(labels), "source": str(config.source)},
            **found.to_json(),
            "labelled_twice": twice,
            "agreed": agreed,
            "failures": failures,
        },
    )
    write_atomic(path / "verdicts.json", json.dumps(verdicts, indent=1).encode())
    write_atomic(path / "agreement.md", f"{table}\n".encode())
    print(table)
    for name, failure in list(failures.items())[:3]:
        print(f"{name}: {failure}")


def read_labels(config: Any) -> Sequence[Labelled]:
    """Raises InputError where `source` is not what the labels need."""
    if config.labels == "answers":
        return read_answers(config.source) if config.source else shipped_answers()
    if not config.source:
        raise InputError("config.source must be a folder; got ''")
    if config.labels == "recorded":
        return labelled_episodes(config.source)
    if config.labels == "traces":
        return labelled_traces(config.source)
    if config.labels == "online_mind2web":
        with working("read labels"):
            return read_labelled_runs(config.source, trajectories=not config.judgments)
    with working("read labels"):
        return read_agent_reward_bench(config.source, unsure=config.unsure, trajectories=not config.judgments)


def labelled_judgments(config: Any, labelled: Sequence[Labelled]) -> list[Judgment]:
    """Raises InputError where they are asked for and are not there."""
    if not config.judgments:
        return []
    if config.labels == "online_mind2web":
        return read_evaluations(config.judgments, labelled)
    return read_judgments(config.judgments, config.judge, labelled)


def recorded_verdict(judgment: Judgment, solved: bool) -> JudgedLabel:
    reward = None if judgment.verdict is None else float(judgment.verdict)
    return JudgedLabel(judgment.labelled, solved, judgment.verdict, reward, judgment.failure)
