"""The command `try`: who plays, what is printed, what is refused."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from experiments.__main__ import main
from tests.rollout.scripted_endpoint import call, calling, scripted, scripted_responses

SOUND = "tests.environments.faulty:Sound"


@contextlib.contextmanager
def endpoint(answer: str) -> Iterator[tuple[str, list[str]]]:
    """The address of an OpenAI-compatible server that always says the same, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # none of our own servers
            self.send_error(404)

        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["content-length"])).decode())
            said = {"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]}
            data = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()
        server.server_close()


def tried(run: Path, *flags: str, name: str = SOUND) -> int:
    return main(["try", name, "--config.episodes=2", f"--config.run={run}", *(f"--config.{flag}" for flag in flags)])


def test_a_finding_that_is_wrong_is_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tried(tmp_path / "a") == 0
    said = capsys.readouterr().out
    assert f"{SOUND}, seed 0, at most 5 steps, played by chance\n" in said and "\nNothing was found wrong.\n" in said
    assert tried(tmp_path / "b", name="tests.environments.faulty:LeakyReward") == 1
    said = capsys.readouterr().out
    assert "\n  WRONG A reset does not clean, or " in said and "\n1 to be mended, 0 to be looked at.\n" in said
    result = json.loads((tmp_path / "b" / "result.json").read_text())
    assert result["wrong"] == 1 and result["findings"][0]["about"] == "reset"
    assert "1 to be mended" in (tmp_path / "b" / "report.html").read_text()


def test_an_endpoint_plays_and_is_told_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint("Thought: It is time.\nAction: say(word='hello')") as (address, asked):
        assert tried(tmp_path / "a", f"player={address}", "model=somebody") == 0
    said = capsys.readouterr().out
    assert "       1 sees  seed 0, said 0\n         says  Thought: It is time.\n" in said
    assert "The episode is over (finished) after 3 turns, with success; its return is 1." in said
    assert len(asked) == 3 and "say(word=" in asked[0] and "Say it three times." in asked[0]
    with endpoint("I would rather not.") as (address, asked):
        assert tried(tmp_path / "b", f"player={address}", "model=somebody") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "None of 2 answers of the player could be read, such as 'I would rather not.': there is no 'Action:'." in said
    )
    assert "The episode is over (rejected) after 2 turns, without success" in said


def test_an_endpoint_plays_by_calling_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(lambda _: calling(call("say", {"word": "hello"}), words="It is time.")) as (address, asked):
        assert tried(tmp_path / "a", f"player={address}", "model=somebody", "tools=native") == 0
    said = capsys.readouterr().out
    assert "         says  Thought: It is time.\n" in said
    assert "The episode is over (finished) after 3 turns, with success; its return is 1." in said
    assert [tool["function"]["name"] for tool in asked[0]["tools"]] == ["say"]
    assert "exactly this form" not in json.dumps(asked) and "Act by calling the tools" in json.dumps(asked[0])
    assert [message["role"] for message in asked[1]["messages"]] == ["system", "user", "assistant", "tool"]


def test_an_endpoint_plays_by_responses_where_it_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    called = {"type": "function_call", "id": "f", "call_id": "c", "name": "say", "arguments": '{"word": "hello"}'}
    with scripted_responses(lambda _: [called]) as (address, asked):
        assert tried(tmp_path / "a", f"player={address}", "model=somebody", "tools=computer") == 0
    assert "return is 1." in capsys.readouterr().out and [tool["type"] for tool in asked[0]["tools"]] == ["function"]
    click = {"type": "click", "button": "left", "x": 0, "y": 0}
    acted = {"type": "computer_call", "id": "cu", "call_id": "cu", "status": "completed", "actions": [click]}
    with scripted_responses(lambda _: [{**acted, "pending_safety_checks": []}]) as (address, asked):
        assert tried(tmp_path / "c", f"player={address}", "model=somebody", "tools=computer") == 1
    assert "The episode is over (rejected) after 2 turns" in capsys.readouterr().out, "a tool that it was not given"
    with scripted(lambda _: {}) as (address, asked):
        assert tried(tmp_path / "b", f"player={address}", "model=somebody", "tools=computer") == 2
    said = capsys.readouterr().err
    assert said.startswith("config.tools must be text for an endpoint that takes no such tools; got computer: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("player=reference",), f"config.player must not be reference, as {SOUND} has no reference player; got it\n"),
        (("player=http://127.0.0.1:1", "answer_seconds=0.1"), "config.player must be where a policy answers; got "),
        (
            ("player=no.such:player",),
            "config.player: player 'no.such:player': 'no.such' must be a module that can be imported",
        ),
        (("environment=games15",), "config.environment must be one environment with one kind of options; got "),
        (
            ('environment_options={"size": 3}',),
            f"config.environment_options: {SOUND}: an option must be left out, as it has none; got 'size'\n",
        ),
        (("environment=tests.environments.faulty:Soun",), "environment 'tests.environments.faulty:Soun': "),
    ],
)
def test_what_cannot_be_tried_is_a_sentence(
    flags: tuple[str, ...], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tried(tmp_path / "run", *flags) == 2
    assert capsys.readouterr().err.startswith(sentence)
    assert not (tmp_path / "run").exists()


def records() -> list[dict[str, str]]:
    return [{"prompt": f"{number} + 1 =", "answer": str(number + 1)} for number in range(40)]


def exact(completion: str, answer: str) -> bool:
    return completion.strip() == answer


def rarest(completions: list[str]) -> list[float]:
    return [0.5 for _ in completions]


def raising(completion: str) -> float:
    return float(completion[10_000])


def asks_for_more(completion: str, explanation: str) -> float:
    return 0.0


def of_records(run: Path, *functions: str) -> int:
    rewards = {f"{__name__}:{name}": 1.0 for name in functions}
    options = {"data": f"{__name__}:records", **({"rewards": rewards} if rewards else {})}
    return tried(run, f"environment_options={json.dumps(options)}", name="prompts")


def test_a_rubric_is_asked_about_the_records_own_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert of_records(tmp_path / "rubric", "exact", "rarest") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "says Action" not in said and "Nothing was found wrong." in said
    assert "Its reference player earns 1.5 (exact 1, rarest 0.5) of seed 0, with success." in said
    assert "The episode that is shown earns 0.5 (exact 0, rarest 0.5)." in said
    assert of_records(tmp_path / "reference") == 0
    assert "Its reference player earns 1 of seed 0, with success." in " ".join(capsys.readouterr().out.split())


def test_a_rubric_that_cannot_judge_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert of_records(tmp_path / "a", "raising") == 1
    assert "could not be judged: reward function raising raised IndexError" in " ".join(capsys.readouterr().out.split())
    assert of_records(tmp_path / "b", "asks_for_more") == 2
    assert "got the parameter 'explanation'" in capsys.readouterr().err
    assert of_records(tmp_path / "c", "nobody") == 2
    assert "'nobody' must be an attribute of" in capsys.readouterr().err
