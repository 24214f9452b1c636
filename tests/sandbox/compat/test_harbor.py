"""Harbor's own command with our computers: what its agents get, what is refused, and what stays when it is killed."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.compat.harbor_command import (
    ROOT,
    TASKS,
    Trial,
    command,
    commands_of_page,
    environment,
    make_task,
    needs_harbor,
    run,
    trials,
)
from tests.sandbox.computer.containers import Traces

pytestmark = [
    pytest.mark.multiprocess,
    needs_harbor,
    pytest.mark.skipif(os.geteuid() != 0, reason="images are made by root alone"),
]
OPTIONS = {"-p", "-a", "-e", "-m", "-o", "--ak", "--ek"}  # of the page, which other tests here use
LONG = 100_000 + os.getpid()  # seconds, of no other test's
ONE = "echo 1 > /logs/verifier/reward.txt"


def test_the_oracle_solves_all_by_the_command_of_the_page(tmp_path: Path) -> None:
    install, play, *others = commands_of_page()
    subprocess.run(shlex.split(install), cwd=ROOT, check=True, timeout=120)
    words = shlex.split(play)
    words[words.index("-o") + 1] = str(tmp_path / "jobs")
    for other in others:  # as far as it can be told without what they name
        assert {word for word in shlex.split(other) if word.startswith("-")} <= OPTIONS
    subprocess.run(
        [*words, "-q", "--job-name", "job"], cwd=ROOT, env=environment(tmp_path), check=True, timeout=280
    )  # fmt: skip
    found = trials(tmp_path / "jobs" / "job")
    assert rewards(found) == {folder.name: (1.0, "") for folder in TASKS.iterdir() if folder.is_dir()}
    kept = found["kept_artifacts"].folder / "artifacts"
    files = {file.relative_to(kept).as_posix() for file in kept.rglob("*") if not file.is_dir()}
    assert files == {"app/report.txt", "app/out/deep/one", "logs/artifacts/kept", "manifest.json"}
    assert "no network" in (found["closed_network"].folder / "trial.log").read_text()


def test_doing_nothing_earns_nothing(tmp_path: Path) -> None:
    found = run(TASKS, tmp_path, "nop", "-i", "plum_file")
    assert rewards(found) == {"plum_file": (0.0, "")}


def rewards(found: Mapping[str, Trial]) -> dict[str, tuple[float | None, str]]:
    return {name: (trial.reward, trial.exception) for name, trial in found.items()}


def test_what_cannot_be_had_ends_its_own_trial_in_words(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    make_task(tasks / "other_base", dockerfile="FROM ubuntu:24.04\n", tests=[ONE])
    make_task(tasks / "no_dockerfile", dockerfile="", environment='docker_image = "debian"\n', tests=[ONE])
    make_task(tasks / "services", tests=[ONE])
    (tasks / "services" / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    make_task(tasks / "some_hosts", environment='network_mode = "allowlist"\nallowed_hosts = ["a.org"]\n', tests=[ONE])
    make_task(tasks / "accelerator", environment="gpus = 1\n", tests=[ONE])
    make_task(tasks / "other_user", config='[agent]\nuser = "nobody"\n', tests=[ONE])
    make_task(tasks / "failing", dockerfile="FROM debian\nRUN echo unlucky >&2; exit 3\n", tests=[ONE])
    windows = make_task(tasks / "windows", environment='os = "windows"\n')
    for script in ("solution/solve.bat", "tests/test.bat"):
        (windows / script).write_text("exit 0\n")
    make_task(tasks / "elsewhere", dockerfile="", tests=[ONE])
    (tasks / "elsewhere" / "environment" / "Dockerfile").symlink_to("/etc/passwd")
    make_task(tasks / "fine", dockerfile="\ufeffFROM debian\n", tests=[ONE])
    found = run(tasks, tmp_path, "oracle")
    said = {name: trial.exception for name, trial in found.items()}
    assert found["fine"].reward == 1.0 and not said.pop("fine")
    assert all(trial.reward is None for name, trial in found.items() if name != "fine")
    for name, words in {
        "other_base": "environment/Dockerfile, line 1: FROM must be debian or python",
        "no_dockerfile": "got docker_image = 'debian'",
        "services": "environment must be one Dockerfile",
        "some_hosts": "network_mode='allowlist'",
        "accelerator": "Task requires 1 GPU(s)",
        "other_user": "user must be root, as all programs of a computer are; got nobody",
        "windows": "does not support Windows",
        "elsewhere": "environment/Dockerfile must be a file of its folder; got a link that leads out of it",
        "failing": "environment/Dockerfile, line 2: RUN must end with 0; got 3 (unlucky)",
    }.items():
        assert words in said.pop(name)
    assert not said


def test_a_hostile_verifier_gets_no_reward_that_it_did_not_write(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    make_task(tasks / "link", tests=["ln -s /etc/hostname /logs/verifier/reward.txt"])
    make_task(tasks / "pipe", tests=["mkfifo /logs/verifier/reward.txt"])
    make_task(tasks / "not_finite", tests=["echo nan > /logs/verifier/reward.txt"])
    make_task(tasks / "nothing", tests=["exit 0"])
    make_task(tasks / "endless", tests=[ONE, "sleep 1234"], verifier_s=2.0)
    make_task(tasks / "forks", tests=["f() { f | f & }; f; sleep 5"], verifier_s=5.0)
    make_task(tasks / "huge", tests=["truncate -s 9T /logs/verifier/huge || truncate -s 200G /logs/verifier/huge", ONE])
    make_task(tasks / "kills", tests=[ONE, "kill -9 -1"])
    make_task(tasks / "removes", tests=[ONE, "rm -rf /usr/bin/* /bin/*"])
    make_task(tasks / "fills", tests=["head -c 1G /dev/zero > /zero", f"rm /zero; {ONE}"])
    make_task(tasks / "memory", tests=["python3 -c 'x = bytearray(1 << 31)' || " + ONE])
    found = run(tasks, tmp_path, "nop")
    whole = {"kills", "removes", "fills", "memory"}
    assert {name for name, trial in found.items() if trial.reward == 1.0} == whole
    said = {name: trial.exception.partition(":")[0] for name, trial in found.items() if name not in whole}
    assert all(found[name].reward is None for name in said)
    assert said.pop("forks") in ("RewardFileNotFoundError", "VerifierTimeoutError")
    assert said == {
        "link": "RewardFileNotFoundError",
        "pipe": "RewardFileNotFoundError",
        "not_finite": "VerifierOutputParseError",
        "nothing": "RewardFileNotFoundError",
        "endless": "VerifierTimeoutError",
        "huge": "DownloadVerifierDirError",
    }
    assert not Traces(tmp_path).left()


@pytest.mark.full
def test_an_agent_whose_time_is_over_ends_and_is_judged(tmp_path: Path) -> None:
    make_task(
        tmp_path / "tasks" / "slow", config="[agent]\ntimeout_sec = 2.0\n",
        solution="touch /begun; sleep 1235; touch /end",
        tests=["if [ -e /begun ] && ! [ -e /end ] && ! pgrep -x sleep; then echo 0.5; fi > /logs/verifier/reward.txt"],
    )  # fmt: skip
    found = run(tmp_path / "tasks", tmp_path, "oracle")
    assert found["slow"].reward == 0.5 and found["slow"].exception


@pytest.mark.full
def test_a_build_whose_time_is_over_ends_with_its_trial_and_harbor_with_it(tmp_path: Path) -> None:
    for name in ("one", "two"):  # the same image
        make_task(
            tmp_path / "tasks" / name, dockerfile=f"FROM debian\nRUN sleep {LONG}\n", tests=[ONE],
            environment="build_timeout_sec = 5\n",
        )  # fmt: skip
    found = run(tmp_path / "tasks", tmp_path, "oracle")
    assert [trial.exception.partition(":")[0] for trial in found.values()] == ["EnvironmentStartTimeoutError"] * 2
    assert not sleepers() and not Traces(tmp_path / f"tars_jax-computers-{os.geteuid()}").left()


FULL = pytest.mark.full


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=FULL), pytest.param(signal.SIGTERM, marks=FULL)]
)
def test_nothing_stays_when_harbor_is_ended_in_the_middle(tmp_path: Path, number: signal.Signals) -> None:
    for name in ("one", "two"):
        make_task(tmp_path / "tasks" / name, solution=f"sleep {LONG}", tests=[ONE])
    process = subprocess.Popen(
        command(tmp_path / "tasks", tmp_path / "jobs", "oracle"), env=environment(tmp_path), cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    traces = Traces(tmp_path / f"tars_jax-computers-{os.geteuid()}")
    try:
        wait_for(lambda: sleepers() == 2)
        traces.note()
        assert traces.left()
    finally:
        process.send_signal(number)
        process.wait(60)
    wait_for(lambda: not traces.left() and not sleepers())


@pytest.mark.full
def test_trials_go_on_when_all_computers_were_lost(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        make_task(tmp_path / "tasks" / name, solution=f"sleep {LONG}", tests=[ONE], agent_s=6.0)
    process = subprocess.Popen(
        command(tmp_path / "tasks", tmp_path / "jobs", "oracle"), env=environment(tmp_path), cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: sleepers() == 2)
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            words = b" ".join(words_of(file))
            if b"launcher/__main__.py" in words and os.fsencode(tmp_path) in words:
                os.kill(int(file.parent.name), signal.SIGKILL)
        process.wait(120)
    finally:
        process.kill()
        process.wait()
    found = trials(tmp_path / "jobs" / "job")
    assert sorted(trial.reward or 0.0 for trial in found.values()) == [0.0, 0.0, 1.0, 1.0]
    lost = [trial.exception for trial in found.values() if trial.reward is None]
    assert len(lost) == 2 and all(said.startswith("SandboxFailure") for said in lost)
    assert not Traces(tmp_path / f"tars_jax-computers-{os.geteuid()}").left()


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def sleepers() -> int:
    """Of this test's process: others may run the same."""
    return sum(words_of(file) == [b"sleep", str(LONG).encode()] for file in Path("/proc").glob("[0-9]*/cmdline"))


def words_of(file: Path) -> list[bytes]:
    """A program's argv; empty where it has ended."""
    try:
        return file.read_bytes().split(b"\0")[:-1]
    except OSError:
        return []


class Scripted(http.server.BaseHTTPRequestHandler):
    """An endpoint of OpenAI's form that says the same whatever it is asked: a command, then that it is done."""

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        begun = len(messages) > 1
        commands = [] if begun else [{"keystrokes": "echo plum > fruit.txt\n", "duration": 0.5}]
        said = json.dumps({"analysis": "", "plan": "", "commands": commands, "task_complete": begun})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = json.dumps({"id": "a", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.full
def test_terminus_2_plays_by_an_endpoint(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = run(
            TASKS, tmp_path, "terminus-2", "-i", "plum_file", "-m", "openai/scripted",
            "--ak", f"api_base=http://127.0.0.1:{server.server_port}/v1", "--ak", "record_terminal_session=false",
            variables={"OPENAI_API_KEY": "none"},
        )  # fmt: skip
        server.shutdown()
    assert rewards(found) == {"plum_file": (1.0, "")}
    assert (found["plum_file"].folder / "agent" / "trajectory.json").exists()


class Word(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"quince\n")

    def log_message(self, *_: object) -> None:
        pass


def test_hosts_are_reached_as_the_policy_of_each_phase_says(tmp_path: Path) -> None:
    tasks, ask = tmp_path / "tasks", "curl -s -m 20 http://127.0.0.2/"
    (tmp_path / "sitecustomize.py").write_text(  # one address of this machine stands for a public one
        "import tars_jax.web.network as addresses\n"
        "addresses.NOT_PUBLIC = tuple(each for each in addresses.NOT_PUBLIC if each.network_address.packed[0] != 127)\n"
    )
    allowed = 'network_mode = "allowlist"\nallowed_hosts = ["127.0.0.2"]\n'
    judged = [
        f'if [ "$({ask})" = quince ] && ! [ -s /asked ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt'
    ]
    make_task(
        tasks / "verifier_alone", config='[agent]\nnetwork_mode = "no-network"\n', environment=allowed, tests=judged,
        solution=f"{ask} > /asked",
    )  # fmt: skip
    local = allowed.replace("127.0.0.2", "10.0.0.1")
    make_task(tasks / "this_network", environment=local, tests=[ONE])
    public = [
        f"{ask} -o /dev/null -w '%{{http_code}}' > /code; grep -q 403 /code && {ONE}"
    ]  # it is not of the public network
    make_task(tasks / "public", environment='network_mode = "public"\n', tests=public)
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.2", 80), Word)
    except OSError as error:
        pytest.skip(f"port 80 of 127.0.0.2 is taken: {error}")
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = run(tasks, tmp_path, "oracle", "--ek", "network=policy", variables={"PYTHONPATH": str(tmp_path)})
        server.shutdown()
    assert "must be of the public network; got '10.0.0.1'" in found.pop("this_network").exception
    assert rewards(found) == {"verifier_alone": (1.0, ""), "public": (1.0, "")}


@pytest.mark.full
def test_a_port_of_this_machine_is_there_inside_also_after_programs_have_closed_it(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Word) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ask = f"curl -s -m 20 http://127.0.0.1:{server.server_port}/"
        make_task(
            tmp_path / "tasks" / "model", environment='network_mode = "no-network"\n',
            solution=f"{ask} > /asked; pkill -f forward.py; sleep 1; {ask} > /closed",
            tests=[f'[ "$(cat /asked)$({ask})" = quincequince ] && ! [ -s /closed ] && {ONE}'],
        )  # fmt: skip
        found = run(tmp_path / "tasks", tmp_path, "oracle", "--ek", f"ports=[{server.server_port}]")
        server.shutdown()
    assert rewards(found) == {"model": (1.0, "")}
