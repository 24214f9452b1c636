"""The flywheel over an environment of functions: what goes where, once, whatever interrupts it.

As in test_stages.py nothing is learned; the policy is a reference player that errs now and then.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_collections
import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.agent.prompts import PromptWriter
from tars_jax.data.store import Store
from tars_jax.data.store.integrity import check
from tars_jax.data.store.records import task_key
from tars_jax.data.store.routing import CT, RECYCLED, RL, SFT, VALUE, batch_of, route
from tars_jax.data.store.verdicts import Verdict
from tars_jax.data.tutorials import SITE
from tars_jax.environment import Task
from tars_jax.pipelines import flywheel, run_context
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.task_sources import TasksOfFile, load_task_source, place_of, with_listed
from tars_jax.pipelines.training_sets import AGENT
from tars_jax.rollout import players
from tars_jax.training.checkpoint import Checkpoints
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory.files import load_trajectory, save_trajectory
from tests.data.test_store import played
from tests.experiments.flywheel_run import count_changes
from tests.experiments.test_stages import TOKENIZER, nothing_is_learned, weights  # noqa: F401

VAULT = "tars_jax.envs.examples.functions_vault:Vault"
FLAGS = (
    f"environment={VAULT}", "environment_options={}", "task.max_steps=3", "task.evaluation_episodes=6",
    "demonstrations.episodes=24", "demonstrations.skill=0.5", "sampling.tasks=10", "ct.updates=1", "ct.batch_rows=4",
    "sft.updates=1", "sft.batch_rows=4", "value.episodes=10", "value.max_updates=2", "value.evaluate_every=2",
    "value.batch_rows=4", "ppo.updates=2", "ppo.min_batch=4", "keep.episodes=4",
    "agent.max_observation_tokens=12", "packing.row_length=0", "browser.pages=4", "ct.every=2",
)  # fmt: skip


@pytest.fixture
def spin(
    weights: Path,  # noqa: F811
    nothing_is_learned: None,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., int]:
    """Runs the flywheel in a folder; returns the exit code."""
    erring = players.reference_player(PromptWriter(TOKENIZER, 1), "text", 0.5)
    monkeypatch.setattr(run_context.RunContext, "policy_player", lambda _: erring)

    def go(run: Path, *flags: str) -> int:
        given = (f"run={run}", f"model.preset={weights}", *FLAGS, *flags)
        return main(["flywheel", *(f"--config.{flag}" for flag in given)])

    return go


def facts(run: Path) -> list[tuple[Any, ...]]:
    """Of every episode of the store, but for what names weights and moments."""
    with Store(run / "store") as store:
        sets = {name: set(store.members(name)) for name in (SFT, CT)}
        names = ("task", "cycle", "source", "purpose", "verdict", "stage")
        return sorted(
            (*(row[name] for name in names), *(row["id"] in sets[name] for name in (SFT, CT))) for row in store.rows()
        )


@contextlib.contextmanager
def killed(owner: Any, name: str, when: Callable[..., bool], patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process is interrupted right after `owner.name` has done what it does, the first time that `when` is so."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def then_interrupted(*arguments: Any, **named: Any) -> Any:
        found = original(*arguments, **named)
        if when(*arguments, **named):
            raise KeyboardInterrupt
        return found

    with patch.context() as patched:
        patched.setattr(owner, name, then_interrupted)
        yield


SAME = ("routed", "datasets", "scores", "mixtures", "recycled", "places")
# Where the extra grain is, the short history is fed by it.
BY_GRAIN = ("reader=array_record",) if find_spec("grain") else ()
MOMENTS: list[tuple[Any, str, Callable[..., bool]]] = [
    (Store, "reassign", lambda *_: True),  # and what came of it is not recorded yet
    (RunDirectory, "finish", lambda run, stage, *_: stage == batch_of(0)),
    (Store, "add", lambda store, *_: store.count("cycle=1") > 0),
    (Store, "reassign", lambda store, batch, sets: batch == batch_of(1)),
    (Checkpoints, "save", lambda saved, step, *_: saved.folder.name == "ppo" and step == 1),
    (Store, "add", lambda store, *_: store.count(f"cycle=1 and stage={VALUE}") > 0),  # and RL's not yet
    (flywheel, "copy_export", lambda *_: True),
    (Store, "add", lambda store, *_: store.count("cycle=1 and purpose=evaluation") > 0),
]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("moments", "flags"),
    [
        (MOMENTS[6:7], ("ppo.updates=0", *BY_GRAIN)),
        pytest.param(MOMENTS, ("keep.by=merged",), marks=pytest.mark.full),
    ],
)
def test_cycles_interrupted_anywhere_come_to_the_same(
    moments: list[tuple[Any, str, Callable[..., bool]]],
    flags: tuple[str, ...],
    tmp_path: Path,
    spin: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, broken = tmp_path / "whole" / "fly 1", tmp_path / "broken" / "fly 1"
    assert spin(whole, "cycles=1", *flags) == 0
    for owner, name, when in moments:
        with killed(owner, name, when, monkeypatch):
            assert spin(broken, "cycles=1", *flags) == 130, name
    assert spin(broken, "cycles=1", *flags) == 0
    assert facts(broken) == facts(whole)
    results = [json.loads((run / "result.json").read_text()) for run in (whole, broken)]
    for ours, theirs in zip(*(result["cycles"] for result in results), strict=True):
        assert {name: ours[name] for name in SAME} == {name: theirs[name] for name in SAME}
    # A finished one goes on; what it has is not made again.
    before = facts(whole)
    assert spin(whole, "cycles=2", *flags) == 0
    assert [row for row in facts(whole) if row[1] < 2 and row[5] not in RECYCLED] == [
        row for row in before if row[5] not in RECYCLED
    ]
    obeys_the_equations(whole)


KILLS = 3  # each takes half a minute


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.multiprocess
@pytest.mark.timeout(1800)
def test_killed_at_any_file_operation_it_comes_to_the_same(tmp_path: Path, weights: Path) -> None:  # noqa: F811
    """kill -9 before operations drawn from a seed, each counted from the start of its process."""
    flags = ["--config.cycles=1", "--config.keep.by=merged", *(f"--config.{flag}" for flag in FLAGS)]

    def go(run: Path, kill_at: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.experiments.flywheel_run", str(run), str(weights), str(kill_at), *flags]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    whole, broken = tmp_path / "whole" / "fly 1", tmp_path / "broken" / "fly 1"
    done = go(whole)
    assert done.returncode == 0, done.stderr
    changes = int(done.stdout.rpartition("changes: ")[2])
    generator, killed_in = random.Random(0), 0
    for _ in range(KILLS):
        code = go(broken, generator.randint(1, changes // 3)).returncode
        assert code in (0, -signal.SIGKILL)
        killed_in += code != 0
    assert killed_in >= 1
    assert go(broken).returncode == 0
    assert facts(broken) == facts(whole) and check(broken / "store") == []
    ours, theirs = (json.loads((run / "result.json").read_text())["cycles"] for run in (whole, broken))
    for name in SAME:
        assert [cycle[name] for cycle in ours] == [cycle[name] for cycle in theirs]


def obeys_the_equations(run: Path) -> None:
    result = json.loads((run / "result.json").read_text())
    assert result["leaked"] == 0 and [cycle["number"] for cycle in result["cycles"]] == [0, 1, 2]
    with Store(run / "store") as store:
        sft, ct = store.members(SFT), store.members(CT)
        assert sft and ct and not set(sft) & set(ct)
        training = "purpose=training and outcome!=failed"
        # What RL and the value model of the last cycle have played waits for the next one.
        waiting = {id for stage in RECYCLED for id in store.ids(f"cycle=2 and stage={stage}")}
        assert set(sft) == set(store.ids(f"{training} and verdict=1")) - waiting
        assert set(ct) == set(store.ids(f"{training} and verdict=0")) - waiting
        for cycle in result["cycles"][1:]:
            for stage in RECYCLED:
                stored = [store.load(id).id for id in store.ids(f"cycle={cycle['number']} and stage={stage}")]
                files = (run / "cycles" / f"{cycle['number']:04d}" / "trajectories" / stage).glob("*.trajectory")
                assert sorted(stored) == sorted(load_trajectory(file).id for file in files), stage  # each once
                assert cycle["recycled"].get(stage, 0) == len(stored)
        assert result["cycles"][2]["routed"]["recycled"] == sum(result["cycles"][1]["recycled"].values())
        assert store.count("cycle=1 and stage=attempts") == 20  # each of ten tasks twice
        by_cycle = [{row["task"] for row in store.rows(f"cycle={cycle} and {training}")} for cycle in range(3)]
        assert all(not one & other for one in by_cycle for other in by_cycle if one is not other)  # fresh ones
        played_by = [{row["weights"] for row in store.rows(f"cycle={cycle} and stage=attempts")} for cycle in (1, 2)]
        assert [len(each) for each in played_by] == [1, 1] and len(set.union(*played_by)) == 2
        assert played_by[1] == {result["cycles"][1]["weights"]}
        held_out = {row["task"] for row in store.index.rows("SELECT task FROM held_out")}
        assert len(held_out) == 10  # six that are reported, four that choose
        assert {row["task"] for row in store.rows("purpose=evaluation")} <= held_out
    # Nothing that a stage trained on is of a held-out task: neither the sets nor what RL and the value model played.
    for folder in (run / "cycles").glob("*/trajectories/*"):
        tasks = {task_key(load_trajectory(file).task) for file in folder.glob("*.trajectory")}
        evaluates = folder.name.startswith(("after_", "validate_"))
        assert tasks <= held_out if evaluates else not tasks & held_out, folder
    assert all((run / "cycles" / f"{cycle:04d}" / "ct").exists() == (cycle % 2 == 0) for cycle in range(3))
    page = (run / "report.html").read_text()
    for cycle in result["cycles"]:  # most of what CT learns from is text, most of what SFT does is the agent's own
        for stage, sources in cycle["mixtures"].items():
            learned = {source: part["tokens"] for source, part in sources.items()}
            assert (learned[AGENT] < sum(learned.values()) / 2) == (stage == CT), (stage, learned)
    for words in ("What each cycle generated, and where it went", "Lineage", "Training episodes of a held-out task: 0"):
        assert words in page


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.timeout(900)
def test_controls_and_what_people_and_texts_bring(tmp_path: Path, spin: Callable[..., int]) -> None:
    plain = ("ppo.updates=0", "keep.by=latest")
    assert spin(tmp_path / "first", "cycles=2", "control=first_cycle", *plain) == 0
    cycles = json.loads((tmp_path / "first" / "result.json").read_text())["cycles"]
    assert cycles[2]["datasets"] == cycles[1]["datasets"] and cycles[1]["routed"]["sft"] > 0
    assert cycles[2]["routed"]["sft"] == 0 < cycles[2]["routed"]["solved"] + cycles[2]["routed"]["failed"]

    # What an annotator has corrected after the first cycle: a failure of it that succeeds now.
    failed = next(
        trajectory
        for file in sorted((tmp_path / "first" / "cycles" / "0001" / "trajectories" / "attempts").iterdir())
        if not (trajectory := load_trajectory(file)).succeeded
    )
    corrections = tmp_path / "corrected 1"
    corrections.mkdir()
    about = {**failed.metadata, "corrects": "an episode"}
    object.__setattr__(failed, "metadata", about)
    object.__setattr__(failed, "success", True)
    save_trajectory(corrections / "0.trajectory", failed)
    more = (f"annotation.datasets={tmp_path / 'corrected {cycle}'},", "text.datasets=tars_jax.data.texts:sums,")
    by_grain = ("reader=array_record",) if find_spec("grain") else ()
    assert spin(tmp_path / "all", "cycles=1", "control=no_routing", *plain, *more, *by_grain) == 0
    cycles = json.loads((tmp_path / "all" / "result.json").read_text())["cycles"]
    assert cycles[1]["datasets"]["sft"] == cycles[1]["datasets"]["ct"] == 24 + 20 + 1
    with Store(tmp_path / "all" / "store") as store:
        (row,) = store.rows("source=annotation")
        assert (row["cycle"], row["parent"], row["verdict"], row["judged_by"]) == (1, "an episode", 1, "annotator")


CONTEXT = ml_collections.ConfigDict({"path": "", "tokenizer": {"image": 0}})


def cycle_of(number: int = 1, **known: Any) -> flywheel._Cycle:
    """A cycle that has what is given, and runs nothing."""
    cycle = flywheel._Cycle.__new__(flywheel._Cycle)
    cycle._number, cycle._mixtures = number, {}
    vars(cycle).update({f"_{name}": value for name, value in known.items()})
    return cycle


def test_corrected_episodes_belong_to_the_cycle_that_their_name_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`corrected 2` is taken in by cycle 2, once; what an annotator says counts above the environment."""
    corrected = dataclasses.replace(played(7, False), success=True, metadata={"corrects": "3f09"})
    monkeypatch.setattr(flywheel, "recorded_for", lambda spec, names, field: [corrected])
    (tmp_path / "corrected 2").mkdir()
    config = ml_collections.ConfigDict({"annotation": {"datasets": (str(tmp_path / "corrected {cycle}"),)}})
    with Store(tmp_path / "store", create=True) as store:
        for number, count in ((1, 0), (2, 1), (2, 1), (3, 1)):
            cycle_of(number, store=store, run=tmp_path, spec=None, config=config)._take_in("annotation", "annotation")
            assert store.count() == count, number
        (row,) = store.rows()
        known = {"cycle": 2, "source": "annotation", "parent": "3f09", "verdict": 1, "judged_by": "annotator"}
        assert {name: row[name] for name in known} == known
        routed = route(store, 2)
        assert (routed.sft, routed.ct, store.members(SFT)) == (1, 0, [row["id"]])


def test_what_an_annotator_says_is_solved_is_imitated(tmp_path: Path) -> None:
    """Also where the environment says V = 0: then it is SFT data, and trained on. The reverse is CT data."""
    config = ml_collections.ConfigDict(
        {"control": "none", "reader": "store", "seed": 0, "sampling": {"at_most": 2, "prefer": "first"}}
    )
    stage = ml_collections.ConfigDict({"episodes": 0})
    with Store(tmp_path / "store", create=True) as store:
        wrong, right, plain = store.add([played(0, False), played(1, True), played(2, True)])
        store.judge({wrong: Verdict(True, "annotator", "ada"), right: Verdict(False, "annotator", "ada")})
        route(store, 0)
        cycle = cycle_of(0, store=store, config=config, texts={}, context=CONTEXT)
        assert {each.id for each in cycle._drawn(SFT, stage, 0.0)} == {"played 0", "played 2"}
        assert [each.id for each in cycle._drawn(CT, stage, 0.0)] == ["played 1"] and plain in store.members(SFT)


def test_what_is_judged_between_two_cycles_moves_at_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command: from CT to SFT, and out of both where nothing counts any more; the cycle that had it stays."""
    stage = ml_collections.ConfigDict({"episodes": 0})
    config = ml_collections.ConfigDict(
        {"control": "none", "reader": "store", "seed": 0, "sampling": {"at_most": 2, "prefer": "first"}}
    )

    def drawn(number: int) -> dict[str, list[str]]:
        with Store(tmp_path / "store") as store:
            cycle = cycle_of(number, store=store, config=config, texts={}, context=CONTEXT)
            cycle._route()
            return {name: sorted(each.id for each in cycle._drawn(name, stage, 0.0)) for name in (SFT, CT)}

    def judge(seed: int, verdict: int, annotator: str) -> None:
        run, where = f"--config.run={tmp_path / annotator}", f"--config.where=seed={seed}"
        said = (f"--config.verdict={verdict}", f"--config.annotator={annotator}", where)
        assert main(["store", str(tmp_path / "store"), run, "--config.action=judge", *said]) == 0

    with Store(tmp_path / "store", create=True) as store:
        store.add([played(0, False), played(1, True), played(2, False), played(3, True)])
    first = {SFT: ["played 1", "played 3"], CT: ["played 0", "played 2"]}
    assert drawn(0) == first
    judge(0, 1, "ada")
    judge(1, 0, "ben")
    judge(1, 1, "cat")  # nothing counts where annotators disagree
    assert drawn(0) == first  # a cycle that is resumed goes on with what it had
    assert drawn(1) == {SFT: ["played 0", "played 3"], CT: ["played 2"]} == drawn(1)
    with Store(tmp_path / "store") as store:
        events = [event for event, _ in store.journal.events() if event.get("batch") == batch_of(1)]
        assert [(event["set"], len(event.get("leave", ())), len(event.get("assign", ()))) for event in events] == [
            (SFT, 1, 0), (SFT, 0, 1), (CT, 1, 0), (CT, 0, 0)
        ]  # fmt: skip
        assert route(store, 1).moved == 2 and check(tmp_path / "store") == []
    assert "judged by cat" in capsys.readouterr().out


@pytest.mark.parametrize("most", [3, 100])
def test_what_rl_and_the_value_model_play_is_recycled_once(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With where it comes from, as many as are asked for; the next cycle routes it. A kill in between changes none."""
    for stage, count in ((VALUE, 4), (RL, 6)):
        (tmp_path / "trajectories" / stage).mkdir(parents=True)
        for number in range(count):
            episode = played(10 * len(stage) + number, number % 2 == 0)
            if number == 1:
                judge = {"judge": "rubric", "judge_version": "7"}
                episode = dataclasses.replace(episode, metadata={**episode.metadata, **judge})
            save_trajectory(tmp_path / "trajectories" / stage / f"{number:08d}.trajectory", episode)
    tuned = type("Lineage", (), {"id": "tuned"})
    monkeypatch.setattr(flywheel, "lineage", lambda path: tuned)
    config = ml_collections.ConfigDict({"seed": 0, "recycle": {"episodes": most}, "control": "none"})
    context = ml_collections.ConfigDict({"path": tmp_path})

    def recycle(store: Store) -> dict[str, int]:
        return cycle_of(1, store=store, config=config, context=context, run=Path("runs/fly"))._recycle(Path("sft"))

    kept = {VALUE: min(most, 4), RL: min(most, 6)}
    with Store(tmp_path / "store", create=True) as store:
        route(store, 1)
        with killed(Store, "add", lambda *_: True, monkeypatch), pytest.raises(KeyboardInterrupt):
            recycle(store)
        assert recycle(store) == recycle(store) == {**kept, "left_out": 10 - sum(kept.values())}
        assert {stage: store.count(f"stage={stage} and cycle=1 and weights=tuned") for stage in kept} == kept
        assert store.count() == sum(kept.values()) and store.count("set=sft") + store.count("set=ct") == 0
        versions = {row["version"] for row in store.rows()}
        assert versions == {played(0, True).windows[0].versions.max()}
        if most == 100:
            (judged,) = store.ids(f"stage={RL} and judged_by=judge")
            (said,) = store.verdicts(judged)
            assert (said.name, said.version, said.value) == ("rubric", "7", False)
        found = route(store, 2)
        assert found.recycled == sum(kept.values()) and (found.solved, found.failed) == (0, 0)  # generated was none
        assert set(store.members(SFT)) == set(store.ids("verdict=1"))
        assert set(store.members(CT)) == set(store.ids("verdict=0"))


def test_recycling_killed_at_any_file_operation_takes_in_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By kill -9, in a process of its own, before every fifth operation; whoever comes next takes in what is left."""
    for stage in (VALUE, RL):
        (tmp_path / "trajectories" / stage).mkdir(parents=True)
        for number in range(2):
            file = tmp_path / "trajectories" / stage / f"{number}.trajectory"
            save_trajectory(file, played(10 * len(stage) + number, True))
    tuned = type("Lineage", (), {"id": "tuned"})
    monkeypatch.setattr(flywheel, "lineage", lambda path: tuned)
    config = ml_collections.ConfigDict({"seed": 0, "recycle": {"episodes": 9}})
    context = ml_collections.ConfigDict({"path": tmp_path})

    def recycle(path: Path) -> list[str]:
        with Store(path, create=True) as store:
            cycle_of(1, store=store, config=config, context=context, run=Path("fly"))._recycle(Path("sft"))
            return sorted(store.load(id).id for id in store.ids())

    def killed_before(operation: int, path: Path) -> bool:
        if (child := os.fork()) == 0:
            count_changes(str(path), operation)
            recycle(path)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    whole = recycle(tmp_path / "whole")
    assert len(whole) == 4 == len(set(whole))
    kills = 0
    for operation in range(1, 500, 5):
        path = tmp_path / str(operation)
        if not killed_before(operation, path):
            break
        kills += 1
        assert recycle(path) == whole and {each.kind for each in check(path)} <= {"partial"}, operation
    assert kills >= 4


def test_tutorials_of_held_out_sites_are_told_to_no_one(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {SITE: "fossil"}
    told = [dataclasses.replace(played(n, True), metadata=about if n else {}) for n in range(2)]
    monkeypatch.setattr(flywheel, "recorded_for", lambda spec, names, field: told)
    spec = ml_collections.ConfigDict({"config": {"packing": {"row_length": 64}, "text": {"datasets": ("t",)}}})
    assert [each.id for each in flywheel._texts(spec, {"fossil"})["t"]] == ["played 0"]
    assert len(flywheel._texts(spec, {"radicale"})["t"]) == 2


def test_texts_of_a_held_out_task_are_refused(tmp_path: Path) -> None:
    """They get into no set, so that `assign` cannot."""
    with Store(tmp_path / "store", create=True) as store:
        store.hold_out([played(3, True).task])
        flywheel._require_trainable(store, [played(2, True)])
        with pytest.raises(InputError, match="text.datasets must hold no held-out task; got 1 .*, the first played 3"):
            flywheel._require_trainable(store, [played(2, True), played(3, True)])


@pytest.mark.parametrize(
    ("by", "solved", "kept"),
    [
        ("latest", {"new": 0, "previous": 4}, "new"),
        ("better", {"new": 1, "previous": 3}, "previous"),
        ("better", {"new": 3, "previous": 1}, "new"),
        ("better", {"new": 2, "previous": 2}, "new"),
        ("merged", {"new": 1, "previous": 2, "merged": 3}, "merged"),
        ("merged", {"new": 1, "previous": 3, "merged": 3}, "previous"),
    ],
)
def test_the_model_that_solves_most_goes_on(
    by: str, solved: dict[str, int], kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the tasks that are held out besides, and once: a killed cycle that goes on does not choose again."""
    places = {"new": tmp_path / "ours", "previous": tmp_path / "before", "merged": tmp_path / "merged"}
    names = {place: name for name, place in places.items()}
    played_by = list[str]()

    def evaluated(context: Any, tasks: Any, stage: str, model: Path) -> list[Any]:
        assert tasks == "validating" and stage == f"validate_{names[model]}"
        played_by.append(names[model])
        return [played(number, number < solved[names[model]]) for number in range(4)]

    done, copied = dict[str, Any](), list[Path]()
    context = type("Context", (), {"path": tmp_path, "record": staticmethod(done.__setitem__)})
    context.run = type("Run", (), {"finished": staticmethod(done.get)})  # type: ignore[attr-defined]
    tasks = type("Tasks", (), {"validating": staticmethod(lambda: "validating")})
    config = ml_collections.ConfigDict({"keep": {"by": by, "weight": 0.5}})
    monkeypatch.setattr(flywheel, "evaluate", evaluated)
    monkeypatch.setattr(flywheel, "merge_checkpoints", lambda *_: None)
    monkeypatch.setattr(flywheel, "copy_export", lambda model, _: copied.append(model))
    cycle = cycle_of(context=context, tasks=tasks, config=config)
    assert cycle._keep(places["new"], places["previous"]) == kept and copied == [places[kept]]
    assert played_by == ([] if by == "latest" else list(solved)) and done["keep"]["kept"] == kept
    solved = dict.fromkeys(solved, 0)
    assert cycle._keep(places["new"], places["previous"]) == kept and copied == [places[kept]]


def test_synthesized_tasks_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "aufgaben ü.jsonl"
    tasks = [Task(f"task {number}", VAULT, number, {}, 3) for number in range(10)]
    file.write_text("\n".join(json.dumps(task.to_json()) for task in tasks), "utf-8")
    config = functools.partial(_Config, environment=VAULT, environment_options="{}", seed=0)
    source = TasksOfFile(file, config())
    assert {task.id for task in source.held_out(2)} == {"task 4", "task 9"}
    assert source.has_reference and len({task.id for task in source.practice(20)}) == 8
    assert not {task.id for task in source.practice(20)} & {task.id for task in source.held_out(2)}
    assert source.training(None).task(8).id == source.training(None).task(0).id
    with pytest.raises(InputError, match="tasks to hold out must be 3 or more, for evaluation and validation; got 2"):
        source.held_out(3)
    file.write_text('{"id": 1}', "utf-8")
    with pytest.raises(InputError, match=r"ü.jsonl:1 must be a task of JSON"):
        TasksOfFile(file, config())
    with pytest.raises(InputError, match="config.tasks: .*none.jsonl must be a file of lines"):
        TasksOfFile(tmp_path / "none.jsonl", config())


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_cycle_on_questions_of_an_encyclopedia(tmp_path: Path, spin: Callable[..., int]) -> None:
    """In Chromium: those who ask are the file's, a fifth of them held out; a judge compares the answers."""
    animals = [f"Tier{n}" for n in range(10)]
    pages = "".join(
        f"<page><title>{name}</title><ns>0</ns><revision><text>Has {n} legs.</text></revision></page>"
        for n, name in enumerate(animals)
    )
    (tmp_path / "dump.xml").write_text(f"<mediawiki>{pages}</mediawiki>", "utf-8")
    asked = [
        {"id": name, "text": f"Legs of {name}?", "answers": [str(n)], "source": str(tmp_path / "dump.xml"),
         "plan": [name]}
        for n, name in enumerate(animals)
    ]  # fmt: skip
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, asked)), "utf-8")
    flags = (
        "environment=browsing", 'environment_options={"size": [320, 256]}', f"tasks={file}", "task.max_steps=4",
        "task.evaluation_episodes=1", "keep.episodes=1", "demonstrations.episodes=8", "sampling.tasks=4",
        "engine.max_new_tokens=0", "ppo.updates=0", "browser.pages=2", "browser.browsers=1",
    )  # fmt: skip
    assert spin(tmp_path / "run", "cycles=1", *flags) == 0
    with Store(tmp_path / "run" / "store") as store:
        rows = store.rows("purpose=training")
        told = {store.load(row["id"]).metadata["instruction"] for row in rows}
        held_out = {store.load(row["id"]).metadata["instruction"] for row in store.rows("purpose=evaluation")}
        assert len(rows) == 8 + 2 * 4 and told == {each["text"] for each in asked} - {
            "Legs of Tier4?",
            "Legs of Tier9?",
        }
        assert held_out <= {"Legs of Tier4?", "Legs of Tier9?"} and len(held_out) == 1
        assert {row["verdict"] for row in rows} == {0, 1}  # who errs says "unknown"
        assert set(store.members(SFT)) == set(store.ids("purpose=training and verdict=1"))


def test_questions_and_tasks_of_websites(tmp_path: Path) -> None:
    """A line of such a file becomes a task that holds it, so that none is both trained on and held out."""
    file = tmp_path / "fragen.jsonl"
    asked = [{"id": f"q{n}", "text": "Who?" + n * "!", "answers": [f"A{n}"], "source": "world"} for n in range(5)]
    file.write_text("\n".join(map(json.dumps, asked)), "utf-8")
    config = ml_collections.ConfigDict(
        {"environment": "browsing", "environment_options": '{"size": [96, 96]}', "seed": 0, "tasks": str(file),
         "demonstrations": {"player": ""}, "task": {"max_steps": 7, "instruction": ""}}
    )  # fmt: skip
    listed = with_listed(config)
    assert [each["id"] for each in json.loads(listed.environment_options)["questions"]] == [
        "q4",
        "q3",
        "q2",
        "q1",
        "q0",
    ]
    source = load_task_source(config.tasks, listed)
    (held_out,) = source.held_out(1)
    assert (held_out.id, held_out.environment, held_out.max_steps) == ("q4", "browsing", 7)
    assert held_out.options == {"size": [96, 96], "questions": [asked[4]]}
    assert (held_out.verification.by, held_out.verification.reference) == ("judge", "A4 ||")
    assert source.has_reference and {task.id for task in source.practice(8)} == {"q0", "q1", "q2", "q3"}
    assert len({task.seed for task in source.practice(4)}) == 4  # players draw from it

    with pytest.raises(InputError, match="config.tasks must be the file of questions for browsing, so that none is"):
        load_task_source("", config)
    file.write_text("\n".join(json.dumps({**asked[0], "split": split}) for split in ("train", "eval")), "utf-8")
    with pytest.raises(
        InputError, match="n.jsonl:2 must be of one split; got eval for a task that is train at .*n.jsonl:1"
    ):
        load_task_source(config.tasks, with_listed(config))
    file.write_text(json.dumps({"id": "t", "site": "trac", "instruction": "Make it."}), "utf-8")
    with pytest.raises(InputError, match=r":1 must be a task .* config.environment must be website_app for it"):
        TasksOfFile(file, listed)


def test_tasks_of_websites_are_chosen_by_site_and_by_the_steps_of_their_solutions(tmp_path: Path) -> None:
    """Held-out sites stay apart, and each task says where it is."""
    file = tmp_path / "tasks.jsonl"
    given = [("radicale", "train", 2), ("radicale", "train", 5), ("trac", "train", 1), ("fossil", "eval", 3)]
    lines = [
        {"id": f"{site} {steps}", "site": site, "instruction": f"Do {steps} in {site}.", "split": split,
         "answer": "one", "about": {"solution": ["wait()"] * steps}}
        for site, split, steps in given
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    config = ml_collections.ConfigDict(
        {"environment": "website_app", "environment_options": '{"sites": ["radicale", "fossil"]}', "seed": 0,
         "tasks": str(file), "solution_steps": 4, "demonstrations": {"player": ""},
         "task": {"max_steps": 9, "instruction": ""}}
    )  # fmt: skip
    listed = json.loads(with_listed(config).environment_options)
    assert {each["id"] for each in listed["tasks"]} == {"radicale 2", "fossil 3"} and listed["sites"]
    source = TasksOfFile(file, config)
    assert {task.id for task in source.practice(5)} == {"radicale 2"} and source.held_out(1)[0].id == "fossil 3"
    assert [place_of(each.to_json()) for each in (*source.practice(1), *source.held_out(1))] == ["radicale", "fossil"]
    assert place_of(played(0, True).task) == "maze_path_of_light"
    config.solution_steps = 0
    assert {task.id for task in TasksOfFile(file, config).practice(5)} == {"radicale 2", "radicale 5"}


class _Config:
    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)
        self.demonstrations = type("Demonstrations", (), {"player": ""})()
        self.get = vars(self).get


def test_what_a_flywheel_cannot_use(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["flywheel", f"--config.run={tmp_path / 'run'}", "--config.text.ct_weight=1.0"]) == 2
    assert "a share from 0 to below 1" in capsys.readouterr().err
