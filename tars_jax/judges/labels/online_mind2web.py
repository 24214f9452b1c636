"""Online-Mind2Web: labels of people for what six agents did on 300 tasks of real websites (arXiv 2504.01382).

    human_label.json    [{"task_id": ..., "confirmed_task": ..., "AGENT_human_label": "0", "1" or "2", ...}, ...]

0 is failure, 1 success; 2, which could not be carried out, is left out.
"""

from __future__ import annotations

from pathlib import Path

from tars_jax import InputError
from tars_jax.environment import Task, Verification
from tars_jax.json_fields import Fields, read_json
from tars_jax.judges.labels.labelled import Labelled

SUFFIX = "_human_label"
VALUES = {"0": False, "1": True, "2": None}


def read_online_mind2web(file: str | Path, websites: str | Path | None = None) -> list[Labelled]:
    """Labelled trajectories, one for each agent and task that could be carried out, in the file's order.

    `websites`: the benchmark's task file ([{"task_id", "website", ...}]), which names the sites; without it the site is
    "online-mind2web". Raises InputError that names the file, the entry and the field for what is not as above.
    """
    sites = _sites(Path(websites)) if websites is not None else {}
    found: list[Labelled] = []
    seen: set[str] = set()
    for number, record in enumerate(_records(Path(file))):
        fields = Fields(record, f"{file}: entry {number}: field ")
        task_id = fields.text("task_id")
        if task_id in seen:
            raise InputError(f"{file}: entry {number}: field task_id must be another for each; got {task_id!r} twice")
        seen.add(task_id)
        task = Task(task_id, "online_mind2web", 0, {}, 100, fields.text("confirmed_task"), Verification("judge"))
        agents = [name for name in fields.names() if name.endswith(SUFFIX)]
        if not agents:
            raise InputError(f"{file}: entry {number} must have a field AGENT{SUFFIX}; got none")
        for name in agents:
            value = record[name]
            label = VALUES.get(str(value), ...) if type(value) in (str, int) else ...
            if label is ...:
                raise InputError(f"{file}: entry {number}: field {name} must be 0, 1 or 2; got {value!r:.60}")
            if label is not None:
                agent = name.removesuffix(SUFFIX)
                site = sites.get(task_id, "online-mind2web")
                found.append(Labelled(f"{task_id}/{agent}", site, agent, (bool(label),), task=task))
    return found


def _sites(file: Path) -> dict[str, str]:
    entries = [Fields(each, f"{file}: entry {number}: field ") for number, each in enumerate(_records(file))]
    return {fields.text("task_id"): fields.text("website") for fields in entries}


def _records(file: Path) -> list[dict[str, object]]:
    records = read_json(file)
    if not isinstance(records, list) or not records:
        raise InputError(f"{file} must hold a list of objects; got {type(records).__name__}, or none in it")
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise InputError(f"{file}: entry {number} must be an object; got {type(record).__name__}")
    return records
