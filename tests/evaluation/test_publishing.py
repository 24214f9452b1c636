"""Publishing a run that was written by hand: nothing of the machine goes out, and the same run gives the same bytes."""

import getpass
import json
import pathlib
import platform
import zipfile
from typing import Any

import pytest

from experiments.__main__ import ROOT, main
from tars_jax import InputError
from tars_jax.evaluation.redaction import Redactor
from tars_jax.training.metrics import MetricsWriter
from tars_jax.training.recorded_updates import Starts, write_updates
from tars_jax.training.run_directory import environment, write_json
from tars_jax.trajectory import Outcome, Step, Trajectory
from tars_jax.trajectory.files import load_trajectory, save_trajectory

RESULT = {"score_before": 0.25, "score_after": 0.5, "episodes": 8, "minutes": 1.5, "seed": 3}
HOST = "builder-7"
FAILURE = f"crash: the page of {HOST} at 10.1.2.3:4567 in {pathlib.Path.home()} is gone"


@pytest.fixture
def run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr(platform, "node", lambda: HOST)
    run = tmp_path / "quickstart-a"
    run.mkdir()
    config = {
        "seed": 3,
        "run": "",
        "model": {"preset": f"{pathlib.Path.home()}/weights/policy"},
        "data": "/data/me/set",
    }
    write_json(run / "config.json", {"experiment": "quickstart", "config": config})
    patch = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-a\n+b\n"
    start = {"seed": 3, **environment(), "command": [f"{ROOT}/experiments/__main__.py", f"--config.run={run}"]}
    write_json(
        run / "environment.json", {"starts": [{**start, "code": {**start["code"], "dirty": True, "patch": patch}}]}
    )
    write_json(run / "result.json", {**RESULT, "engine": "http://10.1.2.3:4567/v1"})
    write_updates(
        run / "updates.json", Starts("supervised", "value"), [[1, 0]], [{"policy": "0" * 64, "value": "1" * 64}] * 2
    )
    with MetricsWriter(run) as metrics:
        metrics.write("ppo", 1, {"success": 0.5})
    (run / "report.html").write_text(f"<p>{run} /data/me/set</p>")
    for index in (0, 1, 2):
        path = run / "trajectories" / "ppo" / f"{index:08d}.trajectory"
        path.parent.mkdir(parents=True, exist_ok=True)
        failures = {"infrastructure_failures": [FAILURE] if index else []}
        task = {"environment": f"{pathlib.Path.home()}/games/own"} if index == 2 else {}
        save_trajectory(path, Trajectory("a", task, (), (), Outcome.FINISHED, 1.0, failures))
    for name in ("supervised", "value", "policy"):
        (run / name).mkdir()
        (run / name / "checkpoint.json").write_text("{}")
    return run


def publish(run: pathlib.Path, *flags: str) -> int:
    return main(["publish", str(run), f"--config.run={run.parent / 'publish'}", *flags])


def test_the_archive_is_whole_and_says_nothing_of_the_machine(run: pathlib.Path) -> None:
    assert publish(run, "--config.checkpoint=policy", "--config.trajectories=updates") == 0
    with zipfile.ZipFile(run.with_suffix(".zip")) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert set(members) >= {"README.md", "manifest.json", "config.json", "requirements.lock", "changes.patch"}
    assert set(members) >= {"metrics.jsonl", "figures/curves.png", "updates.json", "policy/checkpoint.json"}
    assert sorted(name for name in members if name.endswith(".trajectory")) == [
        "trajectories/ppo/00000000.trajectory",
        "trajectories/ppo/00000001.trajectory",
    ]
    private = [
        str(run),
        str(ROOT),
        "10.1.2.3",
        HOST,
        f"{getpass.getuser()}@",
        "/data/me",
        f"{pathlib.Path.home()}/",
    ]
    for name, member in members.items():
        assert not [each for each in private if each.encode() in member], name
    config = json.loads(members["config.json"])["config"]
    assert config["model"]["preset"] == "HOME/weights/policy" and config["data"] == "ELSEWHERE/set"
    assert members["report.html"] == b"<p>RUN ELSEWHERE/set</p>"
    failed = run.parent / "failed.trajectory"
    failed.write_bytes(members["trajectories/ppo/00000001.trajectory"])
    assert load_trajectory(failed).metadata["infrastructure_failures"] == ["crash"]

    words = members["README.md"].decode()
    commit = environment()["code"]["commit"]
    for expected in (f"git checkout {commit}", "git apply quickstart-a/changes.patch", "| score_after | 0.5 |"):
        assert expected in words
    assert "./launch/local.sh quickstart --config=quickstart-a/config.json" in words
    assert "./launch/local.sh replay quickstart-a.zip --config.mode=train" in words


def test_all_trajectories_of_a_run_without_updates_say_nothing_of_the_machine(run: pathlib.Path) -> None:
    (run / "updates.json").unlink()
    (run / "report.md").write_text(f"played in {run}")
    assert publish(run, "--config.checkpoint=none", "--config.trajectories=all") == 0
    with zipfile.ZipFile(run.with_suffix(".zip")) as archive:
        assert archive.read("report.md") == b"played in RUN"
        episodes = [name for name in archive.namelist() if name.endswith(".trajectory")]
        assert len(episodes) == 3
        archive.extract(episodes[2], run.parent / "read")
    assert load_trajectory(run.parent / "read" / episodes[2]).task == {"environment": "HOME/games/own"}


def test_the_same_run_gives_the_same_bytes(run: pathlib.Path) -> None:
    other = run.parent / "elsewhere.zip"
    assert publish(run) == publish(run, f"--config.output={other}", "--config.run=") == 0
    assert other.read_bytes() == run.with_suffix(".zip").read_bytes()
    with zipfile.ZipFile(other) as archive:
        assert not [name for name in archive.namelist() if "checkpoint" in name or "trajector" in name]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("result.json", "has not finished"),
        ("config.json", "config.json does not exist"),
        ("policy/checkpoint.json", "must be a run that has kept its weights"),
        ("trajectories/ppo/00000001.trajectory", "00000001.trajectory"),
        ("updates.json", "has no updates.json"),
    ],
)
@pytest.mark.first(2)
def test_what_is_missing_is_named(
    run: pathlib.Path, capsys: pytest.CaptureFixture[str], broken: str, words: str
) -> None:
    (run / broken).unlink()
    assert publish(run, "--config.checkpoint=policy", "--config.trajectories=updates") == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    assert not run.with_suffix(".zip").exists()


@pytest.mark.slow
def test_a_private_word_that_cannot_be_replaced_stops(run: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (f"made in {run}/policy", f"made on {HOST}", f"made by {getpass.getuser()}@example"):
        (run / "policy" / "note.txt").write_text(words)
        assert publish(run, "--config.checkpoint=policy") == 2
        assert "policy/note.txt holds" in capsys.readouterr().err
    assert not run.with_suffix(".zip").exists()


@pytest.mark.parametrize("place", ["response", "thought", "action", "info", "final"])
@pytest.mark.first(2)
def test_a_private_word_in_a_trajectory_stops(
    run: pathlib.Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, words = run / "trajectories" / "ppo" / "00000000.trajectory", f"half a pair \ud83d, in {run}/secret"
    said = {name: words if name == place else "" for name in ("response", "thought", "action")}
    info = {"page": [words]} if place == "info" else {}
    metadata = {"final": words} if place == "final" else {}
    step = Step(b"png", point=None, reward=0.0, think_tokens=1, valid=True, info=info, **said)
    save_trajectory(path, Trajectory("a", {}, (), (step,), Outcome.FINISHED, 1.0, metadata))
    assert publish(run, "--config.trajectories=updates") == 2
    assert "trajectories/ppo/00000000.trajectory holds" in capsys.readouterr().err
    assert not run.with_suffix(".zip").exists()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("/srv/data/set.json", "ELSEWHERE/set.json"),
        ("--config.x=/srv/data/set", "--config.x=ELSEWHERE/set"),
        ("wss://pages.example:99/session", "ADDRESS"),
        ("runs/a/b", "runs/a/b"),
        ("a/b", "a/b"),
        (0.5, 0.5),
        ({"deep": ["/place/of/run/x", None]}, {"deep": ["RUN/x", None]}),
    ],
)
def test_values_are_redacted(given: Any, shown: Any) -> None:
    assert Redactor({pathlib.Path("/place/of/run"): "RUN"}).value(given) == shown


def test_words_that_only_look_private_stay() -> None:
    redact = Redactor({pathlib.Path("/place/of/run"): "RUN"})
    for harmless in ("/place/of/runs", "data:image/png;base64,ab/place/of/run", "nvidia-cudnn==9.1.0.70"):
        assert redact.text(harmless) == harmless
        redact.require_none("member", harmless.encode())
    redact.require_none("weights", b"\xff/place/of/run")  # bytes of an array are no text
    with pytest.raises(InputError, match="member holds"):
        redact.require_none("member", b"in /place/of/run")
