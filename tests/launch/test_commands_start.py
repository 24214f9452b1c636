"""Every command of docs/commands.md starts, from the wheel and outside the checkout, and gives its first answer.

A server answers a request, a run says how far it is, a tool says what it found and ends. Each has a folder of its own;
`{name}` in the flags of one is the run directory of another, which it waits for. Two run at a time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command import experiment_names
from tests.waiting import PATIENCE_S

# A test waits for what its command needs, which others may have begun: the limit is that of lines.
pytestmark = [pytest.mark.multiprocess, pytest.mark.slow, pytest.mark.timeout(0)]

BUILT_FROM = ("tars_jax", "experiments", "configs", "setup.py", "pyproject.toml", "README.md", "LICENSE")
LIMIT = 2 * PATIENCE_S  # seconds until the next line: before it a model may be compiled
AT_A_TIME = 2
ENDS = 0  # the exit code of what ends by itself
INTERRUPTED = 130


def ask(address: str, path: str, body: Any = None, key: str = "") -> Any:
    """What a server answers, from JSON."""
    headers = {"Content-Type": "application/json", "X-API-Key": key, "Authorization": f"Bearer {key}"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address + path, data, headers), timeout=LIMIT) as answer:
        return json.load(answer)


def ask_for_a_call(address: str, _: str) -> None:
    """As the first page's program may be asked: with the function that it defines; and by the client of the computer
    tool that docs/inference.md shows."""
    about = {"name": "answer", "description": "Answers.", "parameters": {
        "type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}}  # fmt: skip
    body = {"model": "tars_jax", "messages": [{"role": "user", "content": "Is it large?\n7"}],
            "tools": [{"type": "function", "function": about}]}  # fmt: skip
    (choice,) = ask(address, "/v1/chat/completions", body)["choices"]
    assert choice["finish_reason"] in ("stop", "length", "tool_calls")
    (program,) = re.findall(r"```python\n(import base64\n.*?)```", (ROOT / "docs" / "inference.md").read_text(), re.S)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(program.replace("http://127.0.0.1:8000", address), {})
    lines = said.getvalue().splitlines()
    assert lines[0].startswith("['screenshot']") and len(lines) > 1


def ask_for_an_episode(address: str, key: str) -> None:
    assert "observation" in ask(address, "/reset", {}, key)


def ask_for_sessions(address: str, key: str) -> None:
    assert ask(address, "/v1/sessions", key=key) == {"sessions": []}


def ask_for_a_command(address: str, key: str) -> None:
    assert "hello" in json.dumps(ask(address, "/aio/v1/shell/exec", {"command": "echo hello"}, key))


def ask_for_the_screen(address: str, key: str) -> None:
    assert ask(address, "/terminal", key=key)["status"] == "success"


def ask_for_the_annotation(address: str, _: str) -> None:
    assert ask(address, "/state")["steps"] == []


def ask_for_tasks(address: str, key: str) -> None:
    assert len(ask(address, "/api/tasks", key=key)["tasks"]) == 24


@dataclasses.dataclass(frozen=True)
class Start:
    """How a command is started at its smallest, and what its first answer is."""

    flags: str  # without --config.
    answer: str  # in a line; of a server its address, and its key where that is said
    asked: Callable[[str, str], None] | None = None  # of a server
    ends: bool = False  # by itself; others are interrupted when they have answered
    in_ci: bool = False  # where no other test calls its main, or nothing else has shown that the wheel serves it
    program: tuple[str, ...] = ("tars-jax",)
    leaves_run: bool = True

    def needs(self) -> list[str]:
        """Whose runs it takes."""
        return re.findall(r"(?<!{){(\w+)}", self.flags)


def progress(stage: str) -> str:
    return rf"^{stage} +\d+/\d+ "


SMALL = (
    "value.episodes=12 value.max_updates=2 value.batch_rows=8 ppo.updates=1 ppo.min_batch=8 ppo.minibatch_rows=8 "
    "task.evaluation_episodes=4 agent.list_actions=False agent.thought=never agent.max_observation_tokens=4 "
    "engine.max_new_tokens=20 browser.pages=4"
)
PLAYED = "browser.browsers=1 browser.pages=2 task.evaluation_episodes=2"
ON_DEVICE = (
    "seeds=1 game.steps=2 rollout.episodes=4 demonstrations.episodes=4 supervised.updates=1 supervised.part=1 "
    "supervised.episodes=2 supervised.batch_rows=4 evaluation.episodes=4"
)
STARTS = {
    "try": Start("environment=mine:Large episodes=2", r"^Nothing was found wrong", ends=True, in_ci=True),
    "new": Start("kind=environment name=yours", r"^yours\.py: ", ends=True, in_ci=True, leaves_run=False),
    "train": Start(SMALL, r"^report: ", ends=True, in_ci=True, program=("python", "mine.py")),
    "serve": Start(
        "checkpoint={train}/policy port=0 record=kept engine.slots=2 engine.row_buckets=2, engine.image_buckets=1, "
        "engine.length_buckets=32,2048 constraints=()", r"^serve: (http\S+)/v1 ", ask_for_a_call,
        in_ci=True,
    ),
    "quickstart": Start(f"{PLAYED} demonstrations.episodes=2", progress("supervised"), in_ci=True),
    "games": Start(f"{PLAYED} demonstrations.episodes=4", progress("supervised")),
    "continual_pretraining": Start(f"{PLAYED} demonstrations.episodes=12", progress("continual_pretraining")),
    "supervised": Start(f"{PLAYED} demonstrations.episodes=4", progress("supervised")),
    "rejection_sampling": Start(
        f"{PLAYED} model.preset={{train}}/policy sampling.tasks=2 sampling.samples=1", progress("attempts")
    ),
    "value_pretraining": Start(
        f"{PLAYED} model.preset={{train}}/policy value.episodes=10 value.max_updates=2", progress("value")
    ),
    "reinforcement": Start(
        f"{PLAYED} model.preset={{train}}/policy ppo.min_batch=4 ppo.minibatch_rows=4", progress("ppo")
    ),
    "reward_model": Start(
        "model.preset={train}/policy trajectories={train}/trajectories/value_episodes, annotated.verdicts=1 "
        "packing.row_length=512 engine.max_length=512 engine.length_buckets=512,",
        progress("annotated"),
    ),
    "judge_traces": Start(
        "parts.maze.episodes=2 parts.tiles.episodes=0 parts.office.episodes=2 parts.tools.episodes=2 "
        "parts.text.episodes=2 parts.encyclopedia.episodes=2 parts.computer.episodes=0",
        r"^maze: \d of 2 labelled", ends=True,
    ),
    "judge_agreement": Start(
        "labels=answers judge=reference most=300", r"^\|.*precision", ends=True
    ),
    "annotate": Start(
        "checkpoint=reference environment=corridor environment_options={{}}", r"^annotate: open (http\S+)/#key=(\S+)$",
        ask_for_tasks,
    ),
    "annotate_simulated": Start(
        "checkpoint=reference human_steps=4", r"^\d+ human steps in \d+ episodes, 0 of them corrections", ends=True,
        in_ci=True,
    ),
    "annotate_recording": Start(
        "recording=recording", r"look at it at (http\S+)/$", ask_for_the_annotation
    ),
    "evaluate": Start(
        "names=maze_path_of_light, checkpoint={train}/policy episodes=1 max_steps=2 browser.browsers=1 "
        "browser.pages=1 screen=96",
        progress("played"), in_ci=True,
    ),
    "step_budgets": Start(
        "names=maze_path_of_light, contestants=random, budgets=4, episodes=1 browser.browsers=1 browser.pages=1 "
        "screen=96",
        r"^report: ", ends=True,
    ),
    "compare": Start("runs={train},", r"comparison\.svg$", ends=True, in_ci=True),
    "suites": Start("runs=played, names=mine,", r"suites\.html$", ends=True, in_ci=True),
    "publish": Start("source={train} trajectories=updates output=run.zip", r"run\.zip", ends=True, in_ci=True),
    "replay": Start("source={train}", r"^All 1 updates gave the recorded weights, bit for bit", ends=True, in_ci=True),
    "flywheel": Start(
        "environment=maze_path_of_light environment_options={{}} cycles=1 demonstrations.episodes=8 sampling.tasks=2 "
        "ct.updates=1 sft.updates=1 ppo.updates=0 evaluate_ct=False task.evaluation_episodes=2 browser.browsers=1 "
        "browser.pages=2 demonstrations.skill=1.0 sft.batch_rows=4 ct.batch_rows=4",
        r"^weights: ", ends=True,
    ),
    "compare_flywheels": Start("runs={flywheel},", r"flywheels\.svg$", ends=True),
    "store": Start("store=kept action=import datasets={train}/trajectories/ppo,", r"8 of them new$", ends=True),
    "record": Start("action=list folder=none", r"^0 recordings in ", ends=True, in_ci=True, leaves_run=False),
    "export_recording": Start(
        "recording=recording output=copy", r"^copy: 0 typed texts taken out", ends=True, in_ci=True, leaves_run=False
    ),
    "export_trajectories": Start("source={train}", r"messages\.jsonl: \d+ of \d+ episodes", ends=True),
    "merge": Start("checkpoints={train}/policy,{train}/policy", r"merged", ends=True),
    "merge_games": Start(
        f"{PLAYED} demonstrations.start=2 demonstrations.specialist=2 evaluation_episodes=2".replace(
            " task.evaluation_episodes=2", ""
        ),
        progress("start"),
    ),
    "merge_hybrid": Start(
        f"{SMALL} environment=mine:Large,tars_jax.envs.examples.text_echo:TextEcho mixture.weights=1,1 "
        "agent.constrained=False demonstrations.episodes=0 value.episodes=10",
        progress("ppo"),
    ),
    "synthesize_games": Start(
        "games=1 browser.pages=2 inspection.seeds=1 inspection.levels=1",
        r"^synthesize +1/1 games .* game 0: ",
        ends=True,
    ),
    "synthesize_websites": Start("sites= addresses=addresses.txt", r"^0 tasks on 0 sites: ", ends=True),
    "synthesize_questions": Start("questions=4", r"^4 questions, 4 proved again", ends=True, in_ci=True),
    "play_questions": Start(
        "questions={synthesize_questions}/questions.jsonl reference_episodes=1 random_episodes=1 max_steps=2 "
        "browser.pages=1",
        r"^random: \d+ of 1 solved",
        ends=True,
    ),
    "design_tasks": Start("tasks=6", r"^6 tasks for 3 applications: .*tasks\.jsonl$", ends=True, in_ci=True),
    "curate": Start(
        "datasets={train}/trajectories/ppo, variants=1", r"curated: \d+ trajectories of \d+ read$", ends=True,
    ),
    "convert_recording": Start(
        "source=recording output=capture", r"recording\.db: a capture of openadapt-capture$", ends=True
    ),
    "train_tokenizer": Start("samples=50", r"tokenizer\.json: \d+ tokens$", ends=True),
    "computer_apis": Start("port=0", r'base_url="(http\S+)/aio"', ask_for_a_command),
    "osworld": Start("port=0 browser=False", r" at (http\S+); the token is (\S+)$", ask_for_the_screen),
    "openenv": Start("environment=maze_path_of_light port=0", r" at (http\S+); the token is (\S+)$", ask_for_an_episode,
                     in_ci=True),
    "sandbox_service": Start("port=0", r"^Live page:  (http\S+)/#key=(\S+)$", ask_for_sessions, in_ci=True),
    "import_weights": Start("source={export_weights}/exported", r"imported: imported from", ends=True),
    "export_weights": Start("checkpoint={train}/policy", r"exported: exported from", ends=True),
    "quantize": Start(
        f"{PLAYED} checkpoint={{train}}/policy rows=2 suite=miniwob names=miniwob/click-test, episodes=1 max_steps=2",
        progress("float-1"),
    ),
    "pod_plan": Start(
        "preset=nano depth=1 topology=v5e:2x2 programs=prefill, compiled=",
        r"^plan +1/1 programs .* prefill compiled in",
        ends=True,
    ),
    "gpu_bench": Start(
        "size=tiny warmups=1 repeats=1 models=dense, parts=matmul, peak.matmul=64",
        r"^gpu_bench +1/1 entries .* matmul",
        ends=True,
    ),
    "on_device": Start(ON_DEVICE, progress("supervised")),
    "scoreboard": Start(
        "trends=T1 seeds=2 tuning_seeds=1 learning_rates=5e-4, agent.rollout.episodes=4 "
        "agent.demonstrations.episodes=4 agent.supervised.updates=1 agent.supervised.part=0 "
        "agent.supervised.episodes=2 agent.supervised.batch_rows=4 agent.value.updates=0 agent.ppo.updates=1",
        r"^  ",
    ),
    "ablations": Start(
        "seeds=2 switches=ppo.gamma=0.9, agent.rollout.episodes=4 agent.demonstrations.episodes=4 "
        "agent.supervised.updates=1 agent.supervised.part=0 agent.supervised.episodes=2 "
        "agent.supervised.batch_rows=4 agent.value.updates=0 agent.ppo.updates=1",
        r"^  ",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that holds the wheel; all else it finds where this one does."""
    here = tmp_path_factory.mktemp("wheel")
    source, environment = here / "source", here / "environment"
    source.mkdir()
    for name in (*BUILT_FROM, "requirements.lock"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(here), str(source)], here)
    run([sys.executable, "-m", "venv", "--without-pip", str(environment)], here)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    (wheel,) = here.glob("*.whl")
    python = str(environment / "bin" / "python")
    run([*pip, "--python", python, "install", "-q", "--no-deps", "--no-index", str(wheel)], here)
    return environment / "bin"


def surroundings() -> dict[str, str]:
    """Of a command that knows nothing of this checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run(command: list[str], folder: Path) -> str:
    """What a command says that must succeed."""
    done = subprocess.run(command, cwd=folder, env=surroundings(), capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


class Process:
    """A command that was started, whose lines are read as they come."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            command, cwd=folder, env=surroundings(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _next(self) -> str | None:
        """None at the end."""
        try:
            line = self._lines.get(timeout=LIMIT)
        except queue.Empty:
            raise AssertionError(f"nothing for {LIMIT:g} s after:\n" + "\n".join(self.said)) from None
        self.said += [line] if line is not None else []
        return line

    def line(self, pattern: str) -> re.Match[str]:
        """The next line that has it."""
        while (line := self._next()) is not None:
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"no line has {pattern!r}:\n" + "\n".join(self.said))

    def end(self, by: signal.Signals | None) -> int:
        """The exit code, after a signal or without one."""
        if by is not None and self._process.poll() is None:
            self._process.send_signal(by)
        while self._next() is not None:
            pass
        return self._process.wait(LIMIT)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(LIMIT)


class Started:
    """Commands that were started, a few at a time; those that others take the runs of come first."""

    def __init__(self, bin: Path, folder: Path) -> None:
        self._bin, self._folder = bin, folder
        self._workers = ThreadPoolExecutor(AT_A_TIME)
        self._found: dict[str, Future[float]] = {}

    def begin(self, name: str) -> Future[float]:
        if name not in self._found:
            needed = [self.begin(other) for other in STARTS[name].needs()]
            self._found[name] = self._workers.submit(self._start, name, needed)
        return self._found[name]

    def close(self) -> None:
        self._workers.shutdown(cancel_futures=True)

    def _start(self, name: str, needed: list[Future[float]]) -> float:
        """Seconds from its start to its end."""
        for other in needed:
            other.result()
        start, folder = STARTS[name], self._folder / name
        folder.mkdir()
        for file, text in files().items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        runs = {other: self._folder / other / "run" for other in STARTS}
        flags = [*start.flags.format(**runs).split(), *(["run=run"] if start.leaves_run else [])]
        command = [str(self._bin / start.program[0]), *(start.program[1:] or [name])]
        began = time.monotonic()
        process = Process([*command, *(flag if flag[0] == "-" else f"--config.{flag}" for flag in flags)], folder)
        try:
            found = process.line(start.answer)
            if start.asked is not None:
                key = folder / "run" / "token"
                start.asked(found[1], key.read_text().strip() if key.exists() else found.groups("")[-1])
            code = process.end(None if start.ends else signal.SIGTERM)
            expected = ENDS if start.ends or start.asked else INTERRUPTED
            assert code == expected, f"exit code {code}:\n" + "\n".join(process.said)
            return time.monotonic() - began
        finally:
            process.kill()


def files() -> dict[str, str]:
    """What lies where the user stands: the program of the first page, and addresses of which nothing answers."""
    program, _ = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    head = {
        "version": 1,
        "id": "r",
        "began": 0,
        "screen": [1, 1],
        "consent": "I agree.",
        "allowed": [],
        "source": "x11",
    }
    played = {"suite": "osworld", "checkpoint": "policy", "by_task": {"a": {"scores": [1.0], "successes": [True]}}}
    share = {"tasks": 1, "success": {"value": 1.0, "low": 0.2, "high": 1.0}}
    return {
        "played/result.json": json.dumps(played | share),
        "mine.py": program, "addresses.txt": "http://127.0.0.1:9/\n", "recording/recording.json": json.dumps(head),
    }  # fmt: skip


@pytest.fixture(scope="module")
def started(
    installed: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Started]:
    """All that is asked for begins at once; what needs the runs of others comes last, and holds nobody up."""
    found = Started(installed, tmp_path_factory.mktemp("started"))
    tests = [item for item in request.session.items if item.path == request.path]  # others have names, too
    wanted = {item.callspec.params.get("name") for item in tests if hasattr(item, "callspec")}
    chosen = [name for name in STARTS if name in wanted]
    for name in sorted(chosen, key=lambda name: bool(STARTS[name].needs())):
        found.begin(name)
    yield found
    found.close()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if each.in_ci else [pytest.mark.full]) for name, each in STARTS.items()]
)
def test_it_starts_and_answers(name: str, started: Started) -> None:
    print(f"{name}: {started.begin(name).result():.1f} s")


def test_every_command_is_in_the_table() -> None:
    assert sorted(STARTS) == experiment_names(ROOT)


def test_the_wheel_knows_every_command_and_its_fields(installed: Path, tmp_path: Path) -> None:
    said = run([str(installed / "tars-jax"), "--help"], tmp_path)
    assert "usage: tars-jax EXPERIMENT" in said and all(f"\n  {name} " in said for name in experiment_names(ROOT))
    said = run([str(installed / "tars-jax"), "quickstart", "--help"], tmp_path)
    assert "usage: tars-jax quickstart" in said and "--config.ppo.clip_high=" in said
