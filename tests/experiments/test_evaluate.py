"""The evaluation command: contestants of every kind on real pages."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from experiments.__main__ import main
from experiments.evaluate import run
from tars_jax import GaveUp, InputError
from tars_jax.data.game_synthesis.source import write_game
from tars_jax.data.game_synthesis.templates import TemplateAuthor
from tars_jax.environment import Observation
from tars_jax.envs.gui import PAGE_ACTIONS
from tars_jax.inference.server import ServerConfig, serving
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.contestants import Contestant, open_contestant
from tars_jax.rollout.players import EpisodeRunnerLost, PrivilegedEnvironment
from tars_jax.tasks.games.catalog import load_game_at
from tars_jax.tasks.library import load_playable
from tars_jax.tasks.sampling import sample_task
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory
from tests.rollout.scripted_endpoint import call, calling, scripted, scripted_responses

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = {
    "names": "maze_path_of_light,infinity_loop",
    "levels": "1,",
    "next_levels": False,
    "episodes": 2,
    "max_steps": 6,
    "screen": 96,
    "browser.browsers": 1,
    "browser.pages": 2,
}


def flags(**more: Any) -> list[str]:
    fields: Mapping[str, Any] = SMALL | {name.replace("__", "."): value for name, value in more.items()}
    return [f"--config.{name}={value}" for name, value in fields.items()]


def evaluate(path: pathlib.Path, **more: Any) -> dict[str, Any]:
    config = load_config("evaluate", flags(**more), root=ROOT)
    with RunDirectory.create(path, config.to_dict(), "evaluate") as run_directory:
        run(config, run_directory)
    found: dict[str, Any] = json.loads((path / "result.json").read_text())
    return found


@pytest.mark.browser
def test_the_reference_player_scores_100(tmp_path: pathlib.Path) -> None:
    result = evaluate(tmp_path / "run", checkpoint="reference", max_steps=12)
    assert result["mean_normalized_score"] == {"value": 100, "low": 100, "high": 100}
    assert result["successes"] == {"infinity_loop": [2, 2], "maze_path_of_light": [2, 2]}
    values = [result["step_budgets"][budget]["value"] for budget in ("1", "2", "5", "10", "12")]
    assert values == sorted(values) and values[0] < 60
    page = (tmp_path / "run" / "report.md").read_text()
    assert "UI-TARS-2-RL (paper)" in page and "budget.svg" in page and (tmp_path / "run" / "budget.svg").exists()


@pytest.mark.browser
def test_episodes_go_on_with_the_next_level_and_have_two_scales(tmp_path: pathlib.Path) -> None:
    """Levels count; the person is slower than the best player."""
    result = evaluate(tmp_path / "run", next_levels=True, checkpoint="reference", max_steps=14)
    assert result["mean_normalized_score"]["value"] == 100 < result["mean_normalized_to_person"]["value"]
    assert result["raw"]["maze_path_of_light"]["value"] == result["scales"]["reference"]["maze_path_of_light"] >= 2
    page = (tmp_path / "run" / "report.md").read_text()
    assert "| levels |" in page and "person = 100" in page and "docs/games.md" in page and "easier" not in page


@pytest.mark.full
@pytest.mark.browser
def test_where_a_scripted_player_solves_no_level_easier_ones_come(tmp_path: pathlib.Path) -> None:
    play = {"levels": "7,", "names": "maze_path_of_light,", "next_levels": True, "max_steps": 14}
    eased = evaluate(tmp_path / "eased", checkpoint="reference", **play)
    assert list(eased["normalized"]) == list(eased["normalized_to_person"]) == ["maze_path_of_light"]
    said = "On easier levels, as a scripted player scored nothing on those asked for: maze_path_of_light."
    assert said in (tmp_path / "eased" / "report.md").read_text()


def without(folder: pathlib.Path, *names: str) -> pathlib.Path:
    """A game's folder as somebody may have made it, who needs none of these."""
    record = json.loads((folder / "game.json").read_text())
    for name in names:
        place = folder.parent / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        record["checksums"] = {path: sum for path, sum in record["checksums"].items() if not path.startswith(name)}
    (folder / "game.json").write_text(json.dumps(record))
    return folder


@pytest.mark.browser
@pytest.mark.full
def test_games_in_folders_are_played_like_others(tmp_path: pathlib.Path) -> None:
    folder = write_game(TemplateAuthor(0).write(4), tmp_path / "a b")
    result = evaluate(tmp_path / "run", checkpoint="reference", names=f"{folder},", max_steps=2)
    assert list(result["successes"]) == [str(folder)] and result["mean_normalized_score"]["value"] == 100


def test_a_folder_without_what_an_evaluation_needs_is_one_sentence(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_game(TemplateAuthor(0).write(4), tmp_path / "bare")
    name = without(folder, "kit", f"{folder.name}/reference.js")
    assert load_playable(str(name)).name == folder.name  # a page need not have a kit
    for checkpoint in ("reference", "random"):
        told = [*flags(names=f"{name},", checkpoint=checkpoint), f"--config.run={tmp_path / checkpoint}"]
        assert main(["evaluate", *told]) == 2
        error = capsys.readouterr().err
        assert "has no reference player" in error and "reference.js" in error and error.count("\n") == 1
        assert not (tmp_path / checkpoint).exists()
    (tmp_path / "empty").mkdir()
    assert main(["evaluate", *flags(names=f"{tmp_path / 'empty'},", checkpoint="random")]) == 2
    assert "config.names must be of games15" in capsys.readouterr().err
    (name / "index.html").unlink()
    load_game_at.cache_clear()
    assert main(["evaluate", *flags(names=f"{name},", checkpoint="random")]) == 2
    assert "index.html" in capsys.readouterr().err


def test_what_the_infrastructure_lost_is_said_and_never_a_number(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All episodes lost: exit code 1. All of one game lost: the others' table, and a sentence."""
    verdict = {"verdict": {"score": 2, "success": True}}
    episode = Trajectory("0", {"id": "m", "max_steps": 6}, (), (), Outcome.FINISHED, 1.0, {"final": verdict})
    kept: dict[str, list[Trajectory]] = {"infinity_loop": [], "maze_path_of_light": []}
    monkeypatch.setattr("experiments.evaluate.play_suite", lambda *_: dict(kept))
    config = load_config("evaluate", flags(checkpoint="random"), root=ROOT)
    for name, code in (("all", 1), ("some", 0)):
        with RunDirectory.create(tmp_path / name, config.to_dict(), "evaluate") as run_directory:
            assert run(config, run_directory) == code
        kept["maze_path_of_light"] = [episode]
    said = capsys.readouterr().out
    assert "nothing was measured: all 4 episodes were lost to the infrastructure" in said
    assert "3 of 4 episodes were lost to the infrastructure and count nowhere, among them all of infinity_loop." in said
    results = [json.loads((tmp_path / name / "result.json").read_text()) for name in ("all", "some")]
    assert [result["lost_to_infrastructure"] for result in results] == [4, 3]
    assert "nan" not in f"{said} {results} {(tmp_path / 'some' / 'report.md').read_text()}".lower()
    assert not (tmp_path / "all" / "report.md").exists()


def test_a_reference_that_scored_nothing_loses_its_game_alone(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One game without a scale: in no mean, and named. All without one: the raw scores are kept, and it says so."""

    def episodes(score: int) -> list[Trajectory]:
        final = {"final": {"verdict": {"score": score, "success": False}}}
        tasks: list[dict[str, Any]] = [{"id": str(level), "max_steps": 6} for level in range(2)]
        return [Trajectory("0", task, (), (), Outcome.FINISHED, 0.0, final) for task in tasks]

    # infinity_loop, maze_path_of_light
    scored = {"played": [1, 3], "reference": [0, 4], "person": [2, 2]}

    def play(config: Any, folder: Any, stage: str, *_: Any) -> dict[str, list[Trajectory]]:
        return dict(zip(("infinity_loop", "maze_path_of_light"), map(episodes, scored[stage]), strict=True))

    monkeypatch.setattr("experiments.evaluate.play_suite", play)
    result = evaluate(tmp_path / "one", checkpoint="random")
    assert result["mean_normalized_score"]["value"] == 75 and list(result["normalized"]) == ["maze_path_of_light"]
    assert result["mean_normalized_to_person"]["value"] == 100 and len(result["normalized_to_person"]) == 2
    assert "as reference scored nothing, and in no mean: infinity_loop." in (tmp_path / "one" / "report.md").read_text()
    scored["reference"] = [0, 0]
    with pytest.raises(InputError, match="config.max_steps is 6, in which no reference player scored"):
        evaluate(tmp_path / "none", checkpoint="random")
    kept = json.loads((tmp_path / "none" / "result.json").read_text())
    assert kept["raw"]["maze_path_of_light"]["value"] == 3 and "step_budgets" not in kept


def test_a_suite_without_reference_players_refuses_them_at_once(tmp_path: pathlib.Path) -> None:
    """As the checkpoint that nobody named is the reference: by its field, and before a browser starts."""
    with pytest.raises(InputError, match="^config.checkpoint must not be reference, as miniwob/click-test: MiniWoB"):
        evaluate(tmp_path / "run", suite="miniwob", names="miniwob/click-test,", checkpoint="reference")
    assert not (tmp_path / "run" / "trajectories").exists()


def test_a_harness_that_cannot_be_had_is_a_sentence(tmp_path: pathlib.Path) -> None:
    play = {"suite": "lmgame", "names": "lmgame/sokoban,", "checkpoint": "random"}
    with pytest.raises(InputError, match=r"lmgame-org/GamingAgent, which stands in no registry .*--harness_mode true"):
        evaluate(tmp_path / "theirs", lmgame_harness="gamingagent", **play)
    with pytest.raises(InputError, match="config.lmgame_harness must be none but for lmgame; got 'text' with games15"):
        evaluate(tmp_path / "games", lmgame_harness="text", checkpoint="random")


@pytest.mark.browser
def test_an_endpoint_reads_the_harness_in_each_games_own_budget(tmp_path: pathlib.Path) -> None:
    """Without steps and episodes in the command: LMGame-Bench's own. Each episode ends at once, as it says so."""
    asked: list[str] = []

    async def complete(request: Request) -> Response:
        asked.append(json.dumps(json.loads(await request.body())["messages"]))
        answer = {"content": "Thought: done\nAction: finished(content='')"}
        return JSONResponse({"choices": [{"message": answer, "finish_reason": "stop"}]})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    play = {"suite": "lmgame", "names": "()", "model": "theirs", "max_steps": 0, "episodes": 0}
    with serving(app, ServerConfig(port=0)) as address:
        for harness in ("none", "text"):
            result = evaluate(tmp_path / harness, checkpoint=f"{address}/v1", lmgame_harness=harness, **play)
            assert result["lmgame_harness"] == harness and len(asked) == 12 and not result["lost_to_infrastructure"]
            assert sum("@ worker" in each for each in asked) == (3 if harness == "text" else 0)
            assert sum("1000 left" in each for each in asked) == 3 == sum("2000 left" in each for each in asked)
            assert set(result["deviations"].values()) == {0.0}
            asked.clear()
    page = (tmp_path / "text" / "report.md").read_text()
    assert "score ± deviation" in page and "as we write them down" in page
    assert "lmgame/tetris: 3 episodes of at most 2000 steps" in page


@pytest.mark.browser
@pytest.mark.full
def test_sokoban_by_levels_of_a_file(tmp_path: pathlib.Path) -> None:
    """Two levels of a box each: a push of one step, then one of two."""
    file = tmp_path / "levels.txt"
    file.write_text("Level 1\n#####\n#@$?#\n#####\n\nLevel 2\n######\n#@$ ?#\n######\n")
    play = {"suite": "lmgame", "names": "lmgame/sokoban,", "checkpoint": "reference", "max_steps": 5}
    result = evaluate(tmp_path / "run", sokoban_levels=file, **play)
    assert result["reported"]["lmgame/sokoban"]["value"] == result["raw"]["lmgame/sokoban"]["value"] == 2
    assert result["successes"] == {"lmgame/sokoban": [2, 2]}
    assert [result["step_budgets"][budget]["value"] for budget in ("1", "2", "5")] == [1, 1, 2]
    assert "The levels of Sokoban are levels.txt." in (tmp_path / "run" / "report.md").read_text()
    with pytest.raises(InputError, match="config.sokoban_levels must be empty where lmgame/sokoban is not played"):
        evaluate(tmp_path / "other", sokoban_levels=file, **{**play, "names": "lmgame/tetris,"})


def button_of(url: str) -> tuple[float, float]:
    """Where MiniWoB's grey button lies on a screenshot, on the grid of 0 to 1000."""
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB"))
    rows, columns = np.nonzero((pixels == 239).all(-1))
    return columns.mean() * 1000 / pixels.shape[1], rows.mean() * 1000 / pixels.shape[0]


@pytest.mark.browser
def test_an_endpoint_solves_real_pages_by_calling_tools(tmp_path: pathlib.Path) -> None:
    """It sees a button and clicks it, in its second turn, by a call; and what it did is an episode like others."""

    def script(body: Mapping[str, Any]) -> Mapping[str, Any]:
        if len(body["messages"]) == 2:
            return calling(call("wait", {"time": 0.1}, "first"), words="I look first.")
        point = [round(each) for each in button_of(body["messages"][-1]["content"][-1]["image_url"]["url"])]
        return calling(call("click", {"point": point}, "second"), words="There is the button.")

    play = {"suite": "miniwob", "names": "miniwob/click-test,", "max_steps": 4, "screen": 0, "tools": "native"}
    with scripted(script) as (address, asked):
        result = evaluate(tmp_path / "run", checkpoint=address, model="theirs", **play)
    assert result["successes"] == {"miniwob/click-test": [2, 2]} and len(asked) == 4
    guide, question = asked[0]["messages"]
    assert guide["role"] == "system" and "Act by calling the tools" in guide["content"]
    assert "Click the button." in question["content"][0]["text"]
    for path in (tmp_path / "run" / "trajectories" / "played-160x210").glob("*.trajectory"):
        episode = load_trajectory(path)
        assert [step.valid for step in episode.steps] == [True, True]
        assert re.fullmatch(
            r"Thought: There is the button.\nAction: click\(point='<point>\d+ \d+</point>'\)", episode.steps[1].response
        )


@pytest.mark.browser
def test_an_endpoint_solves_real_pages_by_the_computer_tool(tmp_path: pathlib.Path) -> None:
    """It looks, sees a button and clicks it; an endpoint that wants a person to look ends the episode."""
    checks: list[Any] = []

    def script(body: Mapping[str, Any]) -> Any:
        head = {"type": "computer_call", "id": "cu", "call_id": f"c{len(body['input'])}", "status": "completed"}
        if len(body["input"]) == 1:
            url = body["input"][0]["content"][-1]["image_url"]
            action: dict[str, Any] = {"type": "wait"}
        else:
            url = body["input"][2]["output"]["image_url"]
            x, y = button_of(url)
            action = {"type": "click", "button": "left", "x": round(x * 160 / 1000), "y": round(y * 210 / 1000)}
        assert url.startswith("data:image/png")
        return [{**head, "actions": [action], "pending_safety_checks": checks}]

    play = {"suite": "miniwob", "names": "miniwob/click-test,", "max_steps": 4, "screen": 0, "tools": "computer"}
    with scripted_responses(script) as (address, asked):
        result = evaluate(tmp_path / "run", checkpoint=address, model="theirs", **play)
        assert result["successes"] == {"miniwob/click-test": [2, 2]} and len(asked) == 4
        assert asked[0]["tools"][0]["type"] == "computer"
        checks.append({"id": "1", "code": "irrelevant_domain", "message": "Is this page meant?"})
        result = evaluate(tmp_path / "asked", checkpoint=address, model="theirs", **play)
        assert result["lost_to_infrastructure"] == 2, "of such an episode nothing was seen"
        more = {"safety_checks": "acknowledge"}
        result = evaluate(tmp_path / "unseen", checkpoint=address, model="theirs", **play, **more)
        assert result["successes"] == {"miniwob/click-test": [2, 2]}


def test_answers_in_plain_text_call_no_tools(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(lambda _: {}) as (address, _):
        more = {"checkpoint": address, "model": "theirs", "tools": "native", "agent.grammar": "plain"}
        assert main(["evaluate", *flags(**more)]) == 2
    assert capsys.readouterr().err.startswith("config.tools must be text for answers in plain text")


@pytest.mark.browser
@pytest.mark.full
def test_an_endpoint_may_point_in_pixels(tmp_path: pathlib.Path) -> None:
    """As UI-TARS-1.5 does: in those of the image that Qwen2.5-VL makes of a screenshot, 280 pixels for 96."""
    guides: list[str] = []

    async def complete(request: Request) -> Response:
        guides.append(json.loads(await request.body())["messages"][0]["content"])
        answer = {"content": "Thought: a corner\nAction: click(start_box='(280,140)')"}
        return JSONResponse({"choices": [{"message": answer, "finish_reason": "stop"}]})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    more = {"names": "maze_path_of_light,", "max_steps": 1, "agent__coordinates": "pixels"}
    with serving(app, ServerConfig(port=0)) as address:
        evaluate(tmp_path / "run", checkpoint=f"{address}/v1", model="theirs", **more)
    assert guides and all("Points are x y in pixels of the screenshot." in guide for guide in guides)
    played = [
        load_trajectory(path) for path in (tmp_path / "run" / "trajectories" / "played-96x96").glob("*.trajectory")
    ]
    assert len(played) == 2 and all(episode.steps[0].point == (1000, 500) for episode in played)


@pytest.mark.browser
def test_our_server_says_how_its_policy_acts(tmp_path: pathlib.Path) -> None:
    """A window a step, screenshots of its own size, and no guide: as the policy was trained."""
    asked: list[Any] = []
    agent = {"grammar": "text", "show_budget": False, "min_steps": 0, "max_steps": 0, "max_summaries": 0}

    async def policy(request: Request) -> Response:
        return JSONResponse({"model": "ours", "version": 3, "agent": agent, "screenshot": [64, 64]})

    async def complete(request: Request) -> Response:
        asked.append(json.loads(await request.body()))
        answer = {"content": "Thought: middle\nAction: click(point='<point>500 500</point>')"}
        return JSONResponse({"choices": [{"message": answer, "finish_reason": "stop"}]})

    routes = [Route("/v1/rl/policy", policy), Route("/v1/chat/completions", complete, methods=["POST"])]
    with serving(Starlette(routes=routes), ServerConfig(port=0)) as address:
        evaluate(tmp_path / "run", checkpoint=address, names="maze_path_of_light,", max_steps=3, screen=0)
    assert len(asked) == 6
    for each in asked:
        assert [message["role"] for message in each["messages"]] == ["user"] and each["model"] == "ours"
        (url,) = [part["image_url"]["url"] for part in each["messages"][0]["content"] if part["type"] == "image_url"]
        assert Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size == (64, 64)
        assert "left" not in "".join(part.get("text", "") for part in each["messages"][0]["content"])


@pytest.mark.browser
@pytest.mark.full
def test_what_an_endpoint_takes_no_more_of_ends_that_episode_alone(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its second turn is too long in one game. In the other one the first turn is filtered: no number comes of that."""

    async def complete(request: Request) -> Response:
        messages = json.loads(await request.body())["messages"]
        if "exit" not in json.dumps(messages):
            return JSONResponse({"error": {"message": "filtered", "code": "content_filter"}}, 400)
        if len(messages) > 2:
            return JSONResponse({"error": {"message": "long", "code": "context_length_exceeded"}}, 400)
        answer = {"content": "Thought: middle\nAction: click(point='<point>500 500</point>')"}
        return JSONResponse({"choices": [{"message": answer, "finish_reason": "stop"}]})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    with serving(app, ServerConfig(port=0)) as address:
        result = evaluate(tmp_path / "run", checkpoint=f"{address}/v1", model="theirs")
    assert result["declined"] == {"context_length_exceeded": 2} and result["lost_to_infrastructure"] == 2
    assert list(result["raw"]) == ["maze_path_of_light"]
    page = (tmp_path / "run" / "report.md").read_text()
    assert "2 of 4 episodes ended where the policy's endpoint took no more: 2 with context_length_exceeded." in page
    assert re.search(r"played: episode .* is lost: policy: content_filter: http.*: filtered", capsys.readouterr().out)
    played = [
        load_trajectory(path) for path in (tmp_path / "run" / "trajectories" / "played-96x96").glob("*.trajectory")
    ]
    kept = [episode for episode in played if episode.outcome is Outcome.TRUNCATED]
    assert [len(episode.steps) for episode in kept] == [1, 1]


ENDPOINT = """
import os, signal, sys, threading
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from tars_jax.inference.server import ServerConfig, serving

left = int(sys.argv[2])

async def complete(request):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    answer = {"content": "Thought: middle\\nAction: click(point='<point>500 500</point>')"}
    return JSONResponse({"choices": [{"message": answer, "finish_reason": "stop"}]})

app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
with serving(app, ServerConfig(port=int(sys.argv[1]))) as address:
    print(address, flush=True)
    threading.Event().wait()
"""


@contextlib.contextmanager
def endpoint(port: int, answers: int) -> Iterator[str]:
    """A process that answers so many requests and is killed by the next one."""
    command = [sys.executable, "-c", ENDPOINT, str(port), str(answers)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.browser
@pytest.mark.multiprocess
def test_an_endpoint_that_is_away_for_good_ends_the_run_and_it_resumes(
    tmp_path: pathlib.Path, descendants: Callable[[int], dict[int, bytes]]
) -> None:
    before = descendants(os.getpid()).keys()
    path = tmp_path / "run"
    more: dict[str, Any] = {"names": "maze_path_of_light,", "model": "theirs", "max_steps": 3, "patience": 1.0}
    more["browser__pages"] = 1
    with endpoint(0, answers=4) as address, pytest.raises(ExceptionGroup) as caught:
        evaluate(path, checkpoint=address, **more)
    assert caught.group_contains(GaveUp, match="The policy has been away for")
    assert not descendants(os.getpid()).keys() - before
    folder = path / "trajectories" / "played-96x96"
    assert len(list(folder.glob("*.trajectory"))) == 1  # of two, of three steps each
    with endpoint(int(address.rpartition(":")[2]), answers=3):
        result = evaluate(path, checkpoint=address, **more)
    assert result["lost_to_infrastructure"] == 0 and result["successes"] == {"maze_path_of_light": [0, 2]}


@pytest.mark.parametrize(
    ("status", "port", "field"),
    [(404, "", "config.model"), (401, "", "config.api_key_file"), (404, "0", "config.checkpoint")],
)
def test_what_an_address_lacks_is_named_by_its_field(status: int, port: str, field: str) -> None:
    async def policy(request: Request) -> Response:
        return JSONResponse({}, status)

    with serving(Starlette(routes=[Route("/v1/rl/policy", policy)]), ServerConfig(port=0)) as address:
        config = load_config("evaluate", flags(checkpoint=address + port), root=ROOT)
        with pytest.raises(InputError, match=f"^{field} must ") as refused, open_contestant(config, 1):
            pass
    assert "client." not in str(refused.value)


@pytest.mark.full
def test_an_endpoint_may_take_its_time_for_an_answer_and_no_more() -> None:
    """A policy that is slower than that is away, for as long as the run's patience lasts."""

    async def complete(request: Request) -> Response:
        await asyncio.sleep(5)
        return JSONResponse({})

    async def ask(contestant: Contestant) -> None:
        task = sample_task("maze_path_of_light", "eval", 0, 0, {"level": 1})
        async with contestant.player(
            PrivilegedEnvironment(cast(Any, None), Observation(text="page"), PAGE_ACTIONS), task
        ) as policy:
            await policy.respond([1, 2], [], restart=True)

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    with serving(app, ServerConfig(port=0)) as address:
        more = {"checkpoint": f"{address}/v1", "model": "theirs", "answer_seconds": 0.2, "patience": 0.1}
        config = load_config("evaluate", flags(**more), root=ROOT)
        with open_contestant(config, 1) as contestant:
            with pytest.raises(EpisodeRunnerLost, match="no answer within 0.2 seconds"):
                asyncio.run(ask(contestant))
            with pytest.raises(GaveUp, match="no answer within 0.2 seconds"):
                asyncio.run(ask(contestant))


@pytest.mark.parametrize("given", ["", "nowhere", "ftp://x"])
def test_a_contestant_is_one_of_four_kinds(given: str) -> None:
    config = load_config("evaluate", flags(checkpoint=given), root=ROOT)
    with pytest.raises(InputError, match=r"config.checkpoint must be a folder"), open_contestant(config, 1):
        pass
