"""Tasks in Harbor's form: rewards that the tests give and nobody else."""

from __future__ import annotations

import base64
import http.server
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Finished, ToolCall
from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.terminal_bench import NEXT_STEP, TerminalBenchEnvironment
from tars_jax.web import network
from tests.envs.benchmarks.harbor_folders import SHIPPED, TOML, bash, by_oracle, done_by, folder, names, play
from tests.sandbox.computer.containers import needs_root

pytestmark = [pytest.mark.multiprocess, needs_root]
REWARD = "/logs/verifier/reward.txt"
PLUM = f'echo "$(( $(cat /app/fruit 2>/dev/null | grep -c plum) ))" > {REWARD}'


def final(transition: Any) -> dict[str, Any]:
    return transition.observation.info["benchmark"]


KINDS = ("asks_a_server", "judged_elsewhere", "two_steps")  # the whole set takes half a minute


@pytest.mark.parametrize("some", [KINDS, pytest.param(names(), marks=pytest.mark.full)], ids=["three", "all"])
def test_the_solution_of_each_task_is_worth_1_and_nothing_done_0(some: Sequence[str]) -> None:
    ended = play(SHIPPED, by_oracle, done_by(), names=some)
    assert len(ended) == 2 * len(some)
    for solved, idle in zip(ended[::2], ended[1::2], strict=True):
        assert (solved.reward, solved.success) == (1.0, True), final(solved)
        assert (idle.reward, idle.success) == (0.0, False), final(idle)


HOSTILE = {
    "rewards beforehand": "mkdir -p /logs/verifier; for f in txt json; do echo 1 > /logs/verifier/reward.$f; done",
    "tests beforehand": f"mkdir -p /tests; echo 'echo 1 > {REWARD}' > /tests/test.sh; chmod 555 /tests",
    "a loop": "setsid bash -c 'while true; do for f in txt json; do echo 1 > /logs/verifier/reward.$f; done; done'"
    " >/dev/null 2>&1 &",
    "links": f"rm -rf /logs /tests; mkdir -p /x/verifier; echo 1 > /x/{REWARD[6:]}; ln -s /x /logs; ln -s x /tests",
    "a link to the reward": "rm -rf /logs/verifier; mkdir /y; echo 1 > /y/reward.txt; ln -s /y /logs/verifier",
    "no run folder": "rm -rf /run/* /tmp/* /var/tmp/*",
    "a link for the host": "rm -rf /run/agent; ln -s /etc /run/agent; mv /opt /opt2; ln -s /etc /opt",
    "programs replaced": "for f in bash cat grep; do printf '#!/bin/sh\necho 1' > /x; chmod 755 /x;"
    " cp /x /usr/local/bin/$f; done; cp /x /usr/bin/cat; cp /x /usr/bin/grep",
    "programs removed": "rm /usr/bin/cat /usr/bin/grep /usr/bin/python3",
    "files in their place": "rm -rf /logs /tests; echo 1 > /logs; echo 1 > /tests",
}


@pytest.mark.parametrize(
    ("before", "reward"), [((), 0.0), pytest.param(("echo plum > /app/fruit",), 1.0, marks=pytest.mark.full)]
)
def test_what_an_agent_leaves_behind_is_no_reward(tmp_path: Path, before: Sequence[str], reward: float) -> None:
    ended = play(folder(tmp_path, PLUM), *(done_by(*before, command) for command in HOSTILE.values()))
    assert {name: each.reward for name, each in zip(HOSTILE, ended, strict=True)} == dict.fromkeys(HOSTILE, reward)


def test_an_agent_that_breaks_the_tests_has_failed(tmp_path: Path) -> None:
    breaking = ("rm -rf /app; touch /app", 'python3 -c \'open("/app/fruit", "wb").truncate(1 << 40)\'')
    test = f"cd /app && timeout 2 sha256sum fruit >/dev/null 2>&1; [ $? = 124 ] || echo 0 > {REWARD}"
    task = folder(tmp_path, test)
    for broken in play(task, *(done_by(command) for command in breaking)):
        assert broken.reward == 0.0
    assert "no reward on what the agent has left" in final(broken)["details"]["steps"][0]["said"]


OWN = """FROM debian
COPY <<EOT /usr/local/bin/tool
#!/bin/sh
echo bad
EOT
COPY <<EOT /usr/local/bin/cut
#!/bin/sh
exec /usr/bin/cut "$@"
EOT
RUN chmod +x /usr/local/bin/*; echo 1 > /usr/local/share/level; touch /usr/local/share/lock
"""


def test_what_an_image_has_below_usr_local_may_be_mended_and_programs_of_the_system_not_covered(tmp_path: Path) -> None:
    test = f"""[ "$(tool)" = good ] && [ "$(cat /usr/local/share/level)" = 2 ] && [ ! -e /usr/local/share/lock ]
echo $? | cut -c1 | sed 's/0/yes/; s/1/0/; s/yes/1/' > {REWARD}"""
    mend = "sed -i s/bad/good/ /usr/local/bin/tool; echo 2 > /usr/local/share/level; rm /usr/local/share/lock"
    covers = (
        "cd /usr/local/bin; for name in cut sed cat; do printf '#!/bin/sh\\necho 1\\n' > $name; chmod +x $name; done"
    )
    task = folder(tmp_path, test, dockerfile=OWN)
    mended, covered, both = play(task, done_by(mend), done_by(covers), done_by(mend, covers))
    assert (mended.reward, covered.reward, both.reward) == (1.0, 0.0, 1.0)


def test_tests_reach_the_ports_of_what_an_agent_has_left_running(tmp_path: Path) -> None:
    ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/plum').read().decode())"
    test = f'python3 -c "{ask}" 2>/dev/null | grep -c fruit > {REWARD}; pgrep -f http.server || true'
    task = folder(tmp_path, test)
    serve = "echo fruit > plum; setsid python3 -m http.server 8080 --bind 127.0.0.1 >/dev/null 2>&1 & sleep 1"
    transition, idle = play(task, done_by(serve), done_by())
    assert transition.reward == 1.0
    assert final(transition)["details"]["steps"][0]["said"] == ""  # nothing of the agent's runs there
    assert idle.reward == 0.0


@pytest.mark.full
def test_live_tests_run_beside_what_an_agent_has_left_running(tmp_path: Path) -> None:
    task = folder(tmp_path, f"pgrep -f 'sleep [6]1' | wc -l > {REWARD}")
    left = done_by("setsid sleep 61 >/dev/null 2>&1 &")
    assert (play(task, left).reward, play(task, left, verifier="live").reward) == (0.0, 1.0)


NO_REWARD = {
    "true": "the tests must write /logs/verifier/reward.txt or reward.json; got neither",
    f": > {REWARD}": "reward.txt must hold a reward; got an empty file",
    f"echo nan > {REWARD}": "reward.txt must hold finite numbers; got nan of reward",
    f"echo 1e308 > {REWARD}": "reward.txt must hold numbers of at most 1e+06; got 1e+308 of reward",
    "printf '{\"a\": 1%0400d}' 0 > /logs/verifier/reward.json": "reward.json must hold a reward; got",
    f"echo 1 > {REWARD}; echo 5 > /logs/verifier/reward.json": "reward.json must hold a reward; got '5",
    f"ln -s /etc/hostname {REWARD}": "reward.txt must be a file of text",
    "echo why; sleep 60": "the tests had not ended after 1 s",
}


def test_what_is_no_reward_is_a_failure_of_the_verifier(tmp_path: Path) -> None:
    toml = TOML.replace("timeout_sec = 30.0", "timeout_sec = 1.0")
    for number, test in enumerate(NO_REWARD):
        folder(tmp_path, test, name=f"task{number}", toml=toml)

    async def failing(environment: TerminalBenchEnvironment) -> EnvironmentFailure:
        with pytest.raises(EnvironmentFailure) as raised:
            await environment.step([Finished()])
        return raised.value

    failures = play(tmp_path, failing, names=[f"task{number}" for number in range(len(NO_REWARD))])
    for told, expected in zip(failures, NO_REWARD.values(), strict=True):
        assert str(told).startswith(expected), told
    assert failures[-1].details["said"] == "why\n"  # of tests that gave no reward, to find out why


def test_a_reward_may_have_parts_and_the_exit_status_of_tests_says_nothing(tmp_path: Path) -> None:
    own = 'cd /logs/verifier; echo \'{"reward": 0.25, "style": 1}\' > reward.json; echo 1 > reward.txt; exit 9'
    folder(tmp_path, own, name="named")
    folder(tmp_path, 'echo \'{"a": 1, "b": 0}\' > /logs/verifier/reward.json', name="parts")
    folder(tmp_path, "echo '{}' > /logs/verifier/reward.json", name="no_parts")
    named, parts, none = play(tmp_path, done_by(), names=("named", "parts", "no_parts"))
    assert (named.reward, named.success, parts.reward, none.reward) == (0.25, False, 0.5, 0.0)
    assert final(named)["details"]["rewards"] == {"reward": 0.25, "style": 1.0}


STEPS = (
    TOML
    + """
[[steps]]
name = "one"
min_reward = 0.5

[[steps]]
name = "two"
"""
)
STEPPED = [
    ("mean", ("echo 1 > /app/one", NEXT_STEP.name, "echo 1 > /app/two"), (1.0, 2)),
    ("mean", ("echo 1 > /app/one", NEXT_STEP.name), (0.5, 2)),
    ("mean", ("echo 1 > /app/one",), (0.5, 2)),  # the second step is graded as it is
    ("mean", (NEXT_STEP.name, "echo 1 > /app/one"), (0.0, 1)),  # below the first step's least reward
    ("final", ("echo 1 > /app/one", NEXT_STEP.name), (0.0, 2)),
    ("final", ("echo 1 > /app/one", NEXT_STEP.name, "echo 1 > /app/two"), (1.0, 2)),
    ("final", ("echo 1 > /app/two",), (0.0, 1)),
]


@pytest.mark.parametrize("strategy", ["mean", pytest.param("final", marks=pytest.mark.full)])
def test_steps_come_one_after_another(tmp_path: Path, strategy: str) -> None:
    test = f"cat /app/$(cat /app/which) > {REWARD} 2>/dev/null || echo 0 > {REWARD}"
    parts: dict[str, str] = {}
    for step in ("one", "two"):
        parts |= {f"steps__{step}__instruction.md": f"Make /app/{step}.", f"steps__{step}__workdir__which": step}
    task = folder(tmp_path, test, toml=f'multi_step_reward_strategy = "{strategy}"\n{STEPS}', **parts)

    def doing(commands: Sequence[str]) -> Any:
        async def steps(environment: TerminalBenchEnvironment) -> Any:
            assert environment.instruction == "Make /app/one."
            for command in commands:
                action = ToolCall(command) if command == NEXT_STEP.name else bash(command)
                transition = await environment.step([action])
                if transition.terminated:
                    return transition
            if NEXT_STEP.name in commands:
                assert environment.instruction == "Make /app/two."
            return await environment.step([Finished()])

        return steps

    cases = [case for case in STEPPED if case[0] == strategy]
    ended = play(task, *(doing(commands) for _, commands, _ in cases))
    seen = [(transition.reward, len(final(transition)["details"]["steps"])) for transition in ended]
    assert seen == [expected for _, _, expected in cases]


def test_artifacts_come_out_with_the_episode_and_links_do_not(tmp_path: Path) -> None:
    toml = 'artifacts = ["/app/out", {source = "/app/one.txt", destination = "named/1.txt"}]\n' + TOML
    task = folder(tmp_path, f"echo 1 > {REWARD}", toml=toml)
    commands = (
        "mkdir -p out/deep; echo a > out/deep/a; ln -s /etc/passwd out/secret; ln -s /etc out/folder",
        "echo 1 > one.txt; echo p > /logs/artifacts/p",
    )
    found = final(play(task, done_by(*commands)))["details"]["steps"][0]["artifacts"]
    assert {path: base64.b64decode(data) for path, data in found.items()} == {
        "app/out/deep/a": b"a\n", "named/1.txt": b"1\n", "logs/artifacts/p": b"p\n",
    }  # fmt: skip


def test_what_cannot_be_prepared_is_no_failure_of_the_agent(tmp_path: Path) -> None:
    broken = folder(tmp_path, PLUM, name="broken", dockerfile="FROM debian\nRUN echo no plum; false\n")
    said = r"environment/Dockerfile, line 2: RUN must end with 0; got 1 \(no plum\)"
    with pytest.raises(EnvironmentFailure, match=said):
        play(broken, done_by())
    check = TOML + '\n[environment.healthcheck]\ncommand = "echo not well; exit 3"\nretries = 2\ninterval_sec = 0.05\n'
    with pytest.raises(EnvironmentFailure, match="its health check failed 2 times: not well"):
        play(folder(tmp_path, PLUM, name="ill", toml=check), done_by())


@pytest.mark.full
@pytest.mark.parametrize("interface", ["gui", "both"])
def test_a_terminal_on_a_screen_serves_as_well(interface: str) -> None:
    if not (shutil.which("Xvfb") or shutil.which("Xtigervnc")) or not shutil.which("xterm"):
        pytest.skip("needs an X server and xterm (./launch/desktop.sh)")

    async def seen(environment: TerminalBenchEnvironment) -> Any:
        assert environment._shown.pixels is not None and environment._shown.pixels.shape == (400, 640, 3)
        functions = {function.name for function in environment.action_space.functions}
        assert functions == {"next_step"} | ({"execute_bash"} if interface == "both" else set())
        return await by_oracle(environment)

    solved = play(SHIPPED / "two_steps", seen, interface=interface, size=(640, 400))
    assert (solved.reward, solved.observation.pixels.shape) == (1.0, (400, 640, 3))


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"1")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    """Of a server of this machine, named by its address: it stands for a host of the internet."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_online_each_phase_reaches_what_its_policy_allows(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(network, "NOT_PUBLIC", ())
    policy = f'network_mode = "allowlist"\nallowed_hosts = ["{address}"]'
    agent_alone = TOML.replace("[agent]", f"[agent]\n{policy}")
    ask = f"curl -s -f -m 5 --noproxy '' http://{address}/"
    test = f"""agent=$(cat /app/got); verifier=$({ask})
echo "{{\\"agent\\": ${{agent:-0}}, \\"verifier\\": ${{verifier:-0}}}}" > /logs/verifier/reward.json"""
    folder(tmp_path, test, name="neither")
    folder(tmp_path, test, name="agent", toml=agent_alone)
    folder(tmp_path, test, name="both", toml=agent_alone.replace("[verifier]", f"[verifier]\n{policy}"))
    names = ("neither", "agent", "both")
    ended = play(tmp_path, done_by(f"{ask} > got"), names=names, suite="terminal_bench_online")
    rewards = [final(transition)["details"]["rewards"] for transition in ended]
    assert rewards == [
        {"agent": 0.0, "verifier": 0.0}, {"agent": 1.0, "verifier": 0.0}, {"agent": 1.0, "verifier": 1.0},
    ]  # fmt: skip


def test_options_are_checked(tmp_path: Path) -> None:
    task = folder(tmp_path, PLUM)
    for options, message in (
        ({"verifier": "beside"}, "verifier must be one of apart, live; got 'beside'"),
        ({"tools": ["fly"]}, "tools must be of .*; got 'fly'"),
        ({"tools": []}, "tools must be of"),
        ({"isolation": "none"}, "isolation must be auto or namespaces"),
    ):
        with pytest.raises(InputError, match=message):
            play(task, done_by(), **options)
