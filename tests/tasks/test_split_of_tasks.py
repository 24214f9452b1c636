"""One word for the side that a task stands on, from its synthesis into the sets of the flywheel."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import ml_collections
import pytest

from tars_jax import InputError
from tars_jax.data.website_synthesis.task import SynthesizedTask, split_of
from tars_jax.envs.spec import EnvironmentSpec
from tars_jax.envs.website_app import draw_task, read_tasks
from tars_jax.pipelines.task_sources import TasksOfFile
from tars_jax.tasks.websites.task import SYNTHESIZED, WebsiteTask, read_website_tasks

SITES = {"trac": 12, "moin": 9, "fossil": 10}
HELD_OUT = ("fossil",)


def config(**more: Any) -> ml_collections.ConfigDict:
    fields = {
        "environment": "website_app", "environment_options": "{}", "seed": 0, "tasks": "",
        "demonstrations": {"player": ""}, "task": {"max_steps": 9, "instruction": ""},
    }  # fmt: skip
    return ml_collections.ConfigDict(fields | more)


def synthesized(site: str, number: int, **more: Any) -> WebsiteTask:
    """As `synthesize_websites` writes it down."""
    task = SynthesizedTask(
        f"{site}-{number}",
        site,
        "create",
        f"Do {number} at {site}.",
        1,
        5,
        reference="yes",
        split=split_of(site, HELD_OUT),
    )
    return task.playable(0, "")


def all_sets(source: TasksOfFile, count: int) -> list[Any]:
    """Every task that any stage of a flywheel trains on."""
    stream = source.training(None)
    drawn = [source.demonstrations(count), source.value_episodes(count), source.practice(count)]
    return [task for tasks in (*drawn, [stream.task(number) for number in range(count)]) for task in tasks]


def site_of(task: Any) -> str:
    return str(task.options["tasks"][0]["site"])


@pytest.fixture
def no_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are drawn and never played, so no site need be installed."""
    spec = EnvironmentSpec("website_app", lambda _: None, default_max_steps=lambda _: 9)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr("tars_jax.pipelines.task_sources.load_environment", lambda *_: spec)
    monkeypatch.setattr("tars_jax.pipelines.environments.load_environment", lambda *_: spec)


@pytest.mark.usefixtures("no_sites")
def test_no_held_out_site_comes_from_synthesis_into_the_flywheel(tmp_path: Path) -> None:
    made = [synthesized(site, number) for site, count in SITES.items() for number in range(count)]
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(task.to_json()) + "\n" for task in made), "utf-8")
    source = TasksOfFile(file, config())
    assert Counter(map(site_of, source.held_out(10))) == {"fossil": 10}
    trained = all_sets(source, 40)
    assert {site_of(task) for task in trained} == {"trac", "moin"} and len({task.id for task in trained}) == 21
    with pytest.raises(InputError, match="tasks to hold out must be 11 or more"):
        source.held_out(11)
    assert {draw_task(read_website_tasks(file), 2 * seed).site for seed in range(200)} == {"trac", "moin"}
    assert {draw_task(read_website_tasks(file), 2 * seed + 1).site for seed in range(20)} == {"fossil"}


@pytest.mark.usefixtures("no_sites")
def test_the_shipped_tasks_are_split_as_they_say() -> None:
    shipped = read_website_tasks(SYNTHESIZED)
    held_out = {task.site for task in shipped if task.split == "eval"}
    source = TasksOfFile(SYNTHESIZED, config())
    trained = all_sets(source, len(shipped))
    assert held_out and not {site_of(task) for task in trained} & held_out
    sides = Counter(task.split for task in shipped)
    assert len({task.id for task in trained}) == sides["train"]
    assert {site_of(task) for task in source.held_out(sides["eval"])} == held_out


ASKED = synthesized("trac", 1).to_json()
UNSAID = {name: value for name, value in ASKED.items() if name != "split"}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{**ASKED, "split": "held_out"}], "f.jsonl:1: split must be train or eval; got 'held_out'"),
        ([{**ASKED, "about": {"split": "held_out"}}], "f.jsonl:1: about.split must not be there"),
        ([{**ASKED, "split": "train", "about": {"split": "train"}}], "f.jsonl:1: about.split must not be there"),
        ([ASKED, {**ASKED, "id": "b", "split": ["eval"]}], "f.jsonl:2: split must be train or eval; got .'eval'."),
        ([ASKED, {**ASKED, "id": "b", "split": None}], "f.jsonl:2: split must be train or eval; got None"),
        ([ASKED, {**UNSAID, "id": "b"}], "f.jsonl:2: split must be train or eval, as other lines"),
        ([ASKED, {**ASKED, "split": "eval", "seed": 3}], "f.jsonl:2 must be of one split; got eval for a task"),
        ([ASKED, {**ASKED, "split": "eval", "id": "b"}], "f.jsonl:2 must be of one split; got eval for a task"),
        ([ASKED, {**ASKED, "split": "eval", "id": "b", "instruction": "Another."}],
         "f.jsonl:2 must be of one split; got eval for the site trac that is train at .*f.jsonl:1"),
        ([ASKED, '{"split": "train", "split": "eval"}'], "f.jsonl:2 must be a task of JSON; .split. stands"),
        ([ASKED], "f.jsonl must hold tasks to train on and tasks to hold out"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("no_sites")
def test_a_file_of_two_words_or_sides_is_refused_by_its_line(lines: list[Any], said: str, tmp_path: Path) -> None:
    written = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file = tmp_path / "f.jsonl"
    file.write_text("\n".join(written), "utf-8")
    with pytest.raises(InputError, match=said):
        TasksOfFile(file, config())


def test_websites_read_the_same_word() -> None:
    assert WebsiteTask.from_json(ASKED).split == "train" and WebsiteTask.from_json(ASKED).to_json() == ASKED
    assert WebsiteTask.from_json(UNSAID).split == "" and WebsiteTask.from_json(UNSAID).to_json() == UNSAID
    with pytest.raises(InputError, match="task.split must be train or eval; got 'held_out'"):
        WebsiteTask.from_json({**ASKED, "split": "held_out"})
    with pytest.raises(InputError, match="task.about.split must not be there"):
        WebsiteTask.from_json({**ASKED, "about": {"split": "eval"}})
    with pytest.raises(InputError, match="split of task 'a' must be train or eval; got 'held_out'"):
        SynthesizedTask("a", "trac", "create", "Do it.", 1, 5, split="held_out")


def test_a_site_of_two_sides_is_refused_wherever_its_tasks_are_read(tmp_path: Path) -> None:
    """What is held out would be seen in training."""
    other = {**ASKED, "id": "b", "instruction": "Another.", "split": "eval"}
    unsaid = {**UNSAID, "id": "b", "instruction": "Another."}
    apart = {**other, "site": "fossil"}
    lines, array = tmp_path / "f.jsonl", tmp_path / "f.json"
    for second, said in (
        (other, "split of all tasks of trac must be the same, train or eval; got train for 'trac-1' and eval for 'b'"),
        (unsaid, "split of all tasks of trac must be the same, train or eval; got train for 'trac-1' and none for 'b'"),
        (apart, ""),
    ):
        lines.write_text("\n".join(map(json.dumps, (ASKED, second))), "utf-8")
        array.write_text(json.dumps([ASKED, second]), "utf-8")
        given = [ASKED, second]
        for read, source in ((read_website_tasks, lines), (read_website_tasks, array), (read_tasks, given)):
            if said:
                with pytest.raises(InputError, match=said):
                    read(source)  # type: ignore[arg-type]
            else:
                assert [task.split for task in read(source)] == ["train", "eval"]  # type: ignore[arg-type]
    array.write_text('[{"split": "train", "split": "eval"}]', "utf-8")
    with pytest.raises(InputError, match="f.json must be a whole JSON file; got 'split' stands in it twice"):
        read_website_tasks(array)


@pytest.mark.usefixtures("no_sites")
def test_lines_of_tasks_hold_any_character(tmp_path: Path) -> None:
    words = "a\u2028b\x85c"
    tasks = [{**ASKED, "id": f"t{n}", "instruction": words + str(n)} for n in range(5)]
    for task in tasks:
        del task["split"]
    file = tmp_path / "f.jsonl"
    file.write_text("\ufeff" + "\n".join(json.dumps(task, ensure_ascii=False) for task in tasks), "utf-8")
    (held_out,) = TasksOfFile(file, config()).held_out(1)  # the fifth, where no line says it
    assert held_out.id == "t4" and held_out.options["tasks"][0]["instruction"] == words + "4"


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ({"split": ""}, "split must be train or eval; got ''"),
        ({"split": None}, "split must be train or eval; got None"),
        ({"Split": "eval"}, "split must be written so; got 'Split'"),
        ({"split ": "eval"}, "split must be written so; got 'split '"),
        ({"split": "train", "SPLIT": "eval"}, "split must be written so; got 'SPLIT'"),
    ],
)
def test_a_split_that_is_none_is_refused(record: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    task = {**synthesized("trac", 1).to_json(), **record}
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps(task) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=wanted):
        read_website_tasks(file)
