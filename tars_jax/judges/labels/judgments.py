"""Judgments that judges gave elsewhere, beside the labels of people: the files of AgentRewardBench.

    FOLDER/BENCHMARK/AGENT/JUDGE/TASK.json
        {"response": a chat completion, "trajectory_info": {"summary_info": {"n_steps": ..., "cum_reward": ...}}}

Its judges answer in three forms, one of which must be there: <success>Successful</success> (its own prompts), a line
Status: success (WebJudge, arXiv 2504.01382; AER), Reward: 1 to 5 (NNetNav), where 4 and 5 are success.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tars_jax import InputError
from tars_jax.json_fields import Fields, read_object
from tars_jax.judges.judge import UnreadableVerdict
from tars_jax.judges.labels.agent_reward_bench import SUCCESSFUL_REWARD
from tars_jax.judges.labels.labelled import Labelled

_TAG = re.compile(r"<success>\s*(successful|unsuccessful)\s*</success>", re.IGNORECASE)
_STATUS = re.compile(r"\bstatus:[*\s]*[\"“]?(success|failure)[\"”]?[*.]*\s*$", re.IGNORECASE | re.MULTILINE)
_REWARD = re.compile(r"\breward:[*\s]*([1-5])[*.]*\s*$", re.IGNORECASE | re.MULTILINE)
_SUCCESSES = frozenset({"successful", "success", "4", "5"})


class Judgment(NamedTuple):
    labelled: Labelled  # with its number of steps and the benchmark's own verdict, as the file has them
    verdict: bool | None  # None: there is none, for the reason of `failure`
    failure: str = ""


def read_judgments(folder: str | Path, judge: str, labelled: Sequence[Labelled]) -> list[Judgment]:
    """Reads the judge's recorded judgments of labelled trajectories, in their order; those that it was not asked about
    are left out.

    Raises InputError that names the file and the field for what is not as above, and where no file is there.
    """
    found = list(_judgments(Path(folder), judge, labelled))
    if not found:
        wanted = f"judgments of {judge} as BENCHMARK/AGENT/{judge}/TASK.json"
        raise InputError(f"{folder} must hold {wanted} for labelled trajectories; got none")
    return found


def _judgments(folder: Path, judge: str, labelled: Sequence[Labelled]) -> Iterator[Judgment]:
    for each in labelled:
        file = folder / each.site / each.agent / judge / f"{each.id.partition('/')[0]}.json"
        if not file.is_file():
            continue
        record = read_object(file)
        info = Fields(record, f"{file}: field ").of_type("trajectory_info", dict)
        summary = Fields(info, f"{file}: field trajectory_info.").of_type("summary_info", dict)
        fields = Fields(summary, f"{file}: field trajectory_info.summary_info.")
        steps = fields.integer("n_steps", 0, 0, 1_000_000) or 0
        reward = fields.number("cum_reward", -1.0, -1e9, 1e9)
        rule = None if summary.get("cum_reward") is None else reward > SUCCESSFUL_REWARD
        known = dataclasses.replace(each, recorded_steps=steps, rule_verdict=rule)
        try:
            yield Judgment(known, _verdict(_text(record.get("response"), str(file))))
        except UnreadableVerdict as failure:
            yield Judgment(known, None, f"UnreadableVerdict: {failure}")


def _text(response: object, file: str) -> str:
    """Text of a chat completion; empty where the model was not reached."""
    if response is None:
        return ""
    if not isinstance(response, dict):
        raise InputError(f"{file}: field response must be an object; got {type(response).__name__}")
    choices = response.get("choices") or []
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    return Fields(first.get("message") or {}, f"{file}: field response.choices[0].message.").text("content", "")


def _verdict(text: str) -> bool:
    said = {match.casefold() in _SUCCESSES for form in (_TAG, _STATUS, _REWARD) for match in form.findall(text)}
    if len(said) != 1:
        got = "both" if said else "none"
        raise UnreadableVerdict(f"a judgment must give one verdict; got {got} in {text[-200:]!r}")
    return said.pop()
