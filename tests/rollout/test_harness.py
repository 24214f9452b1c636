"""Programs that know nothing of us play whole episodes in computers of their own, well and badly."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.envs.registry import load_environment
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.scripted_engine import ScriptedEngine
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.serving import fit_to
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.harness_episode import ChatPolicy, HarnessPlayer
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
TOKENIZER = load_tokenizer()
# What a program of the standard library has to do to ask, and to say how well it did.
LIBRARY = """
import json, os, sys, time, urllib.request
def send(url, body):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    return json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
def ask(text):
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}
    return send(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)["choices"][0]["message"]["content"]
def reward(text):
    open(os.environ["REWARD_FILE"], "w").write(text)
task = json.loads(os.environ["TASK"])
"""


def answers(messages: Sequence[Message], rng: random.Random) -> str:
    return str(messages[-1].parts[0]).strip().upper()


def nobody(privileged: Any, task: Task) -> Any:
    raise AssertionError("a program plays, and no agent loop")


@pytest.fixture(scope="module")
def player() -> Iterator[HarnessPlayer]:
    model = preset("nano", TOKENIZER.vocabulary)
    turns = TurnFormat(TOKENIZER, lambda height, width: 1)
    config = EngineConfig(max_length=512, max_new_tokens=64)
    engine: Any = ScriptedEngine(model, config, TOKENIZER, TOKENIZER.end, turns.messages, answers)
    served = Served("policy", engine, TOKENIZER, turns, fit_to(model, (96, 96)), TOKENIZER.end, {}, lambda path: {})
    server = ServerConfig(port=0, api_key="the-trainers-own")
    with serving(make_app(served, server), server) as address:
        policy = ChatPolicy(address, "policy", server.api_key)
        yield HarnessPlayer(nobody, lambda task: policy, 0)


Plays = Callable[..., list[Trajectory]]


@pytest.fixture
def plays(player: HarnessPlayer, tmp_path: Path) -> Iterator[Plays]:
    """Plays programs by their texts, all at once; what comes of each."""
    with contextlib.ExitStack() as stack:
        writer = PromptWriter(TOKENIZER, image_tokens=1)

        def play(
            *programs: str, seeds: Sequence[int] = (), python: str = "python3", **options: Any
        ) -> list[Trajectory]:
            options = {"time_limit": 20, "isolation": "auto", **options}
            tasks = []
            for number, program in enumerate(programs):
                command = [python, "-c", LIBRARY + program]
                spec = load_environment("harness", given := {"command": command, **options})
                seed = seeds[number] if seeds else number
                tasks.append(Task(f"t{number}", "harness", seed, given, spec.default_max_steps(given)))
            folder = tmp_path / f"played-{time.monotonic_ns()}"
            rollouts = stack.enter_context(Rollouts(None, writer, AgentConfig(), 4))
            kept = len(rollouts.play(tasks, player, folder))
            found = [load_trajectory(file) for file in sorted(folder.glob("*.trajectory"))]
            assert rollouts.lost == sum(each.outcome is Outcome.FAILED for each in found) == len(found) - kept
            return found

        yield play


def why(trajectory: Trajectory) -> str:
    assert trajectory.outcome is Outcome.FAILED and not trajectory.windows and trajectory.reward == 0
    return str(trajectory.metadata["infrastructure_failures"][-1])


def test_a_program_asks_from_within_and_says_its_reward(plays: Plays) -> None:
    numbers = plays(
        "assert ask('plum') == 'PLUM'; reward('0.25')",
        "ask('a'); ask('b'); reward('{\"reward\": 2, \"success\": false}')",
        "ask('a'); reward('1')",
    )
    assert [(each.reward, each.success, each.outcome) for each in numbers] == [
        (0.25, False, Outcome.FINISHED),
        (2.0, False, Outcome.FINISHED),
        (1.0, True, Outcome.FINISHED),
    ]
    assert [step.response for step in numbers[1].steps] == ["A", "B"] and len(numbers[1].windows) == 2
    assert TOKENIZER.decode(numbers[0].windows[0].tokens.tolist()) == "<|user|>plum<|agent|>PLUM<|end|>"


def test_rewards_by_an_exit_code_and_by_a_call(plays: Plays) -> None:
    codes = plays("ask('a')", "ask('a'); sys.exit(3)", reward="exit_code")
    assert [(each.reward, each.success) for each in codes] == [(1.0, True), (0.0, False)]
    said = "ask('a'); send(os.environ['REWARD_URL'], {'reward': -0.5})"
    called = plays(said, f"{said}; sys.exit(1)", "ask('a')", reward="http")
    assert [each.reward for each in called[:2]] == [-0.5, -0.5]
    assert "said no reward (http)" in why(called[2])


def test_the_task_is_told_and_the_same_seed_is_the_same_episode(plays: Plays, tmp_path: Path) -> None:
    rows = [{"word": word, "split": split} for word, split in (("fig", "train"), ("kiwi", "train"), ("pear", "eval"))]
    data = tmp_path / "some tasks.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    program = "assert ask(task['word']) == task['word'].upper(); print(task); reward('1')"
    found = plays(program, program, program, seeds=(0, 2, 1), data=str(data))
    asked = [each.metadata["instruction"] for each in found]
    assert sorted(asked[:2]) == ["fig", "kiwi"] and asked[2] == "pear"
    assert "'split': 'eval'" in found[2].metadata["output"] and "word" in found[2].metadata["output"]


def test_programs_that_fail_are_lost_with_a_sentence_and_never_a_reward(plays: Plays) -> None:
    lost = plays(
        "ask('a'); raise SystemError('out of plums')",
        "print('hello'); reward('1')",
        "ask('a'); reward('plenty')",
        "ask('a'); reward('NaN')",
        "ask('a'); os.kill(os.getpid(), 9)",
        "ask('a'); time.sleep(60)",
        "ask('a'); os.mkdir(os.environ['REWARD_FILE'])",
        "ask('a'); os.symlink('/etc/passwd', os.environ['REWARD_FILE'])",
        time_limit=4,
    )
    words = [why(each) for each in lost]
    assert all("the reward's file must be a file" in each for each in words[6:])
    assert "said no reward (file)" in words[0] and "out of plums" in words[0]
    assert "had no answer of the policy" in words[1] and "hello" in words[1]
    assert "must hold a number" in words[2] and "plenty" in words[2] and "NaN" in words[3]
    assert "ended with -9" in words[4]
    assert "no reward within 4 s" in words[5] and len(lost[5].metadata["infrastructure_failures"]) == 1
    worth = plays("ask('a'); raise SystemExit(1)", "ask('a'); time.sleep(60)", time_limit=3, without_reward=-1)
    assert [(each.reward, each.success, each.outcome) for each in worth] == [
        (-1.0, False, Outcome.FINISHED),
        (-1.0, False, Outcome.TRUNCATED),
    ]


def test_one_that_loops_has_its_answers_and_no_more(plays: Plays) -> None:
    [looping, stubborn] = plays(
        "while True: ask('again')",
        "for _ in range(50):\n    try: ask('again')\n    except Exception: pass\nreward('0.5')",
        answers=5,
    )
    assert (len(looping.steps), looping.reward, looping.outcome) == (5, 0.0, Outcome.TRUNCATED)
    assert (len(stubborn.steps), stubborn.reward, stubborn.outcome) == (5, 0.5, Outcome.TRUNCATED)


def test_many_at_once_with_threads_and_connections_that_are_never_closed(plays: Plays) -> None:
    program = """
import threading, http.client
def talk(number):
    for turn in range(3):
        assert ask(f"{number} {turn}") == f"{number} {turn}"
threads = [threading.Thread(target=talk, args=(number,)) for number in range(5)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
kept = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("/")[2]); kept.connect()
kept.putrequest("POST", "/v1/chat/completions"); kept.putheader("Content-Length", "99"); kept.endheaders()
reward("1"); os._exit(0)
"""
    found = plays(*[program] * 6)
    assert [(each.reward, len(each.steps)) for each in found] == [(1.0, 15)] * 6


def test_what_it_is_given_and_its_python_environment_are_there_also_beside_us(plays: Plays, tmp_path: Path) -> None:
    (tmp_path / "its files" / "deep").mkdir(parents=True)
    (tmp_path / "its files" / "deep" / "a b.txt").write_text("plum")
    (tmp_path / "library.txt").write_text("shelf")
    venv = tmp_path / "its own"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
    (next(venv.glob("lib/*/site-packages")) / "fig.py").write_text("TEXT = 'fig'")
    program = "import fig, subprocess\n"
    program += "ask(open('in/deep/a b.txt').read() + open(os.environ['SHELF']).read() + fig.TEXT)\n"
    program += "reward(str(float(subprocess.run(['python', '-c', 'import fig']).returncode == 0)))"
    given = {"files": {"in": str(tmp_path / "its files")}, "binds": [str(tmp_path / "library.txt")], "venv": str(venv)}
    environment = {"SHELF": str(tmp_path / "library.txt")}
    for isolation in ("auto", "none"):
        [found] = plays(program, python="python", isolation=isolation, environment=environment, **given)
        assert found.reward == 1 and found.steps[0].response == "PLUMSHELFFIG", found.metadata


def test_nothing_but_the_policy_is_reached_from_within(plays: Plays, player: HarnessPlayer) -> None:
    address = player.policy_of(Task("x", "harness", 0, {}, 1)).address
    program = f"""
ask('a')
inside, own = os.environ['OPENAI_BASE_URL'][:-3], {{'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}}
paths = ['/metrics', *('/v1/rl/' + each for each in ('weights', 'policy', 'sessions', 'episodes', 'episodes/x/finish'))]
for url in ({address!r} + '/health', 'http://1.1.1.1/', *(inside + path for path in paths)):
    for headers in ({{}}, own):
        for data in (None, b'{{}}'):
            try: print(url, urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=5).status)
            except urllib.error.HTTPError as error: print('no:', error.code)
            except OSError as error: print('no:', type(error).__name__)
print(urllib.request.urlopen(urllib.request.Request(inside + '/v1/models', None, own)).status)
reward('1')
"""
    [found] = plays(program)
    said = found.metadata["output"].splitlines()
    assert said == ["no: URLError"] * 8 + ["no: 401"] * 24 + ["200"]


def test_an_agent_loop_cannot_play_it_and_options_are_read(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "option command must be the words of a command"),
        ({"command": " "}, "option command must be"),
        ({"command": ["ls", 1]}, "option command must be"),
        ({"command": "ls", "reward": "maybe"}, "option reward must be one of file, http, exit_code"),
        ({"command": "ls", "reward_file": "../x"}, "option reward_file must be a path below the home folder"),
        ({"command": "ls", "files": {"a": "/nowhere"}}, "option files must name what is there"),
        ({"command": "ls", "binds": ["/nowhere"]}, "option binds must name what is there"),
        ({"command": "ls", "binds": {"relative": "/usr"}}, "binds of a container must name absolute paths"),
        ({"command": "ls", "venv": str(tmp_path)}, "option venv must be a Python environment"),
        ({"command": "ls", "time_limit": 0}, "option time_limit must be a number"),
        ({"command": "ls", "answers": 0}, "option answers must be a whole number"),
        ({"command": "ls", "data": str(tmp_path)}, "option data must be a file of .jsonl"),
        ({"command": "ls", "evaluation_data": "x.jsonl"}, "option data must be given with evaluation_data"),
        ({"command": "ls", "comand": 1}, "harness: an option must be one of command, reward"),
    ]
    for options, words in wrong:
        with pytest.raises(InputError, match=words.replace("(", r"\(")):
            load_environment("harness", options)


def test_a_program_that_is_cut_off_leaves_nothing(plays: Plays, descendants: Callable[[int], dict[int, bytes]]) -> None:
    before = descendants(os.getpid()).keys()
    spawn = "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True); ask('a'); time.sleep(600)"
    plays(spawn, spawn, time_limit=2)
    left = [line for pid, line in descendants(os.getpid()).items() if pid not in before and b"sleep" in line]
    assert not left
