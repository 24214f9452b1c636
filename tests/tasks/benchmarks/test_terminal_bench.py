"""Task folders of Harbor: what is read, and what cannot be played here, in words."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer import base_images
from tars_jax.tasks.benchmarks.harbor.config import read_config
from tars_jax.tasks.benchmarks.harbor.folder import read_task, resolved
from tars_jax.tasks.benchmarks.harbor.network import asks_internet
from tars_jax.tasks.benchmarks.terminal_bench import read_tasks
from tests.envs.benchmarks.harbor_folders import SHIPPED, folder, names

PASSES = "echo 1 > /logs/verifier/reward.txt"


@pytest.fixture(autouse=True)
def a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_images, "machine", lambda: ("12", "bookworm", "3.11.2"))


def test_a_set_of_tasks_is_read_in_the_order_of_their_names() -> None:
    tasks = read_tasks(SHIPPED)
    assert [task.id for task in tasks] == names() and not any(task.left_out for task in tasks)
    steps = next(task for task in tasks if task.id == "two_steps")
    assert (steps.record["steps"], steps.time_limit) == (["first", "second"], 120.0)
    assert [task.id for task in read_tasks(SHIPPED / "plum_file")] == ["plum_file"]


def test_what_a_task_says_is_read(tmp_path: Path) -> None:
    toml = """version = "1.1"
artifacts = ["/a/b", {source = "/c", destination = "d"}]
[task]
name = "our/one"
[metadata]
difficulty = "hard"
[agent]
timeout_sec = 12
[verifier]
timeout_sec = 34.5
env = {WORD = "plum"}
[[verifier.collect]]
command = "dump"
[environment]
cpus = 2
memory = "2G"
storage_mb = 512
allow_internet = false
workdir = "/w"
[environment.healthcheck]
command = "true"
retries = 7
[[environment.mcp_servers]]
name = "s"
transport = "stdio"
command = "serve"
args = ["-x"]
[solution]
env = {KEY = "${NO_SUCH_KEY:-none}"}
"""
    task = read_task(folder(tmp_path, PASSES, toml=toml))
    config, stage = task.config, task.stages[0]
    asked = config.surroundings
    assert (asked.memory_mb, asked.storage_mb, asked.cpus, asked.network.mode) == (2048, 512, 2, "no-network")
    assert asked.healthcheck is not None and asked.healthcheck.retries == 7
    assert (asked.servers[0].command, asked.servers[0].args, asked.workdir) == ("serve", ("-x",), "/w")
    assert (stage.agent.timeout_s, stage.verifier.timeout_s, stage.collect[0].command) == (12, 34.5, "dump")
    assert [artifact.place for artifact in stage.artifacts] == ["logs/artifacts", "a/b", "d"]
    assert resolved(config.solution.env, "") == {"KEY": "none"}
    assert read_tasks(task.folder)[0].group == "hard"
    assert read_tasks(folder(tmp_path, PASSES, name="plain", toml="[environment]\n"))[0].time_limit == math.inf


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('schema_version = "1.5"\n', r"schema_version must be at most 1\.4, the newest that is known here; got '1\.5'"),
        ('schema_version = "new"\n', "schema_version must be as 1.4 is; got 'new'"),
        ("[environment\n", "must be a whole TOML file"),
        ("environment = 3\n", "environment must be an object; got 3"),
        (
            '[environment]\nnetwork_mode = "some"\n',
            "environment.network_mode must be one of allowlist, no-network",
        ),
        ('[environment]\nmemory = "many"\n', "environment.memory must be a size as 2G or 512M; got 'many'"),
        ("[agent]\ntimeout_sec = -1\n", "agent.timeout_sec must be a number from 0"),
        ('artifacts = ["/a/../b"]\n', "artifacts.source must be a path without"),
        ('artifacts = [{source = "/a", destination = "/b"}]\n', r"artifacts\[0\].destination must be a path without"),
        ('[[steps]]\nname = "../up"\n', r"steps\[0\].name must be the name of a folder below steps"),
        ('multi_step_reward_strategy = "best"\n', "multi_step_reward_strategy must be final or mean; got 'best'"),
        (
            '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\n',
            "verifier.environment_mode must be shared",
        ),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_sentence(tmp_path: Path, toml: str, message: str) -> None:
    task = folder(tmp_path, PASSES, toml=toml)
    with pytest.raises(InputError, match=f"^{task}/task.toml.*{message}"):
        read_config(task / "task.toml")
    with pytest.raises(InputError):
        read_tasks(tmp_path)


def test_a_path_must_hold_tasks(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="tasks must be a folder"):
            read_tasks(path)
    task = folder(tmp_path, PASSES)
    (task / "instruction.md").unlink()
    with pytest.raises(InputError, match="instruction.md does not exist"):
        read_tasks(task)


LEFT_OUT = {
    '[environment]\nos = "windows"\n': "environment.os is windows, and computers here are Linux",
    "[environment]\ngpus = 1\n": "environment asks for gpus = 1, which computers here have not",
    '[agent]\nuser = "bob"\n': "the agent is to be the user bob, and a computer has root alone",
    '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["pypi.org"]\n': "the agent needs pypi.org, and",
    '[verifier]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.b"]\n': "the verifier needs a.b, and computers have",
    '[[environment.mcp_servers]]\nname = "s"\nurl = "http://s:1"\n': "the MCP server s is at http://s:1, and",
    '[environment]\nenv = {K = "${NO_SUCH_KEY}"}\n': "environment.env: K needs the variable NO_SUCH_KEY, which",
    '[[verifier.collect]]\ncommand = "x"\nservice = "db"\n': "it collects from the service db, and a computer is one",
}


@pytest.mark.parametrize("toml", LEFT_OUT)
def test_what_a_computer_has_not_is_left_out_in_words(tmp_path: Path, toml: str) -> None:
    assert read_tasks(folder(tmp_path, PASSES, toml=toml))[0].left_out.startswith(LEFT_OUT[toml])


def test_files_that_ask_for_more_are_left_out_with_their_line(tmp_path: Path) -> None:
    def why(name: str, test: str = PASSES, dockerfile: str = "FROM debian\n", **files: str) -> str:
        return read_tasks(folder(tmp_path, test, name=name, dockerfile=dockerfile, **files))[0].left_out

    assert why("a", dockerfile="FROM ubuntu:24.04\n").startswith("environment/Dockerfile, line 1: FROM must be")
    asks = "FROM debian\nRUN apt-get update && \\\n  apt-get install -y dpkg no-such-plum\n"
    assert "line 2: RUN asks the internet (by apt for no-such-plum)" in why("b", dockerfile=asks)
    assert why("i", dockerfile="FROM debian\nRUN apt-get update && apt-get install -y dpkg\n") == ""
    assert why("c", "# setup\nuvx pytest /tests") == (
        "tests/test.sh asks the internet (line 3, by uv), and computers have loopback alone"
    )
    assert "solution/solve.sh asks the internet" in why("d", solution__solve_sh="pip install x")
    assert why("e", "").startswith("tests/test.sh is missing")
    services = folder(tmp_path, PASSES, name="f")
    (services / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    assert "asks for several containers" in read_tasks(services)[0].left_out
    image = folder(tmp_path, PASSES, name="g", toml='[environment]\ndocker_image = "some/image"\n')
    (image / "environment" / "Dockerfile").unlink()
    assert "no environment/Dockerfile, but the image some/image" in read_tasks(image)[0].left_out


def test_online_the_policy_of_each_phase_is_what_counts(tmp_path: Path) -> None:
    def why(name: str, toml: str, test: str = "pip install x; " + PASSES) -> str:
        task = folder(tmp_path, test, name=name, toml=toml, dockerfile="FROM ubuntu:24.04\nRUN pip install y\n")
        return read_tasks(task, online=True)[0].left_out

    assert why("a", "[environment]\n") == ""
    assert why("b", '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["pypi.org"]\n') == ""
    for host in ("127.0.0.1", "localhost", "10.1.2.3", "::1", "169.254.169.254"):
        policy = f'[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["{host}"]\n'
        assert "must be of the public network" in why(f"local{len(host)}", policy)
    ranges = '[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["10.0.0.0/8"]\n'
    assert why("c", ranges).startswith("the agent needs the range 10.0.0.0/8, and")


def test_scripts_that_stay_on_the_machine_are_told_from_others() -> None:
    for asks in (
        "apt-get install -y no-such-plum", "pip install -q pytest==8", "curl -LsSf https://astral.sh/uv/install.sh",
        "uv run --with pytest pytest", "npm ci", "git clone https://github.com/a/b", "apt install \\\n no-such-plum",
    ):  # fmt: skip
        assert asks_internet(asks), asks
    for stays in (
        "curl -s http://localhost:8080/a", "pip list", "pip install --no-index x", "pip install .", "# pip install x",
        "apt-get update", "git clone /srv/repo", "wget http://127.0.0.1/x", "python3 -m pytest", "curl $ADDRESS",
    ):  # fmt: skip
        assert not asks_internet(stays), stays


@pytest.mark.parametrize("linked", ["tests", "tests/test.sh", "solution", "environment"])
def test_a_link_out_of_a_tasks_folder_is_not_followed(tmp_path: Path, linked: str) -> None:
    """Its words would be repeated, or come into the computer."""
    task = folder(tmp_path, PASSES, solution__solve_sh="true")
    elsewhere = tmp_path / "elsewhere"
    (task / linked).rename(elsewhere)
    (task / linked).symlink_to(elsewhere)
    assert read_tasks(task)[0].left_out == f"{linked} is a link that leads out of the task's folder"
    (task / linked).unlink()
    elsewhere.rename(task / linked)
    assert read_tasks(task)[0].left_out == ""
    (task / "task.toml").rename(elsewhere)
    (task / "task.toml").symlink_to(elsewhere)
    with pytest.raises(InputError, match="task.toml must be a file of the task; got a link"):
        read_tasks(task)
