"""Synthesized games: what the templates write is admitted, and what is wrong with a game is found and said."""

from __future__ import annotations

import dataclasses
import io
import json
import pathlib
import random
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from experiments.synthesize_games import attempt, run
from tars_jax import GaveUp, InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.data.config import InspectionConfig
from tars_jax.data.game_synthesis.author import ModelAuthor, form, read_answer
from tars_jax.data.game_synthesis.inspection import Inspection, Play, inspect
from tars_jax.data.game_synthesis.source import GameSource, write_game
from tars_jax.data.game_synthesis.templates import MECHANICS, TemplateAuthor
from tars_jax.environment import Task
from tars_jax.inference.server import ServerConfig, serving
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.config import load_config
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import random_player, reference_player
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.games import page_player
from tars_jax.tasks.games.pictures import chromium
from tars_jax.tasks.library import load_playable
from tars_jax.tasks.sampling import sample_task
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory import Trajectory

WRITER = PromptWriter(load_tokenizer(), image_tokens=1)


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    browser = BrowserConfig(browsers=1, pages_per_browser=2, width=96, height=96)
    players = {
        "reference": reference_player(WRITER, "text", 1.0),
        "careless": reference_player(WRITER, "text", 0.0),
        "chance": random_player(WRITER, "text"),
    }
    with Rollouts(browser, WRITER, AgentConfig(), workers=2) as rollouts:
        yield lambda player, tasks, folder: rollouts.play(tasks, players[player], folder)


def test_templates_are_a_function_of_seed_and_number() -> None:
    first, again, other = TemplateAuthor(1), TemplateAuthor(1), TemplateAuthor(2)
    sources = [first.write(number) for number in range(8)]
    assert sources == [again.write(number) for number in range(8)] != [other.write(number) for number in range(8)]
    assert len({source.name for source in sources}) == 8
    assert {source.name.partition("_")[0] for source in sources} == set(MECHANICS) and len(MECHANICS) >= 3


@pytest.mark.browser
@pytest.mark.parametrize("number", [0, *(pytest.param(number, marks=pytest.mark.full) for number in (1, 2, 3))])
def test_what_the_templates_write_is_admitted(number: int, play: Play, tmp_path: pathlib.Path) -> None:
    folder = write_game(TemplateAuthor(5).write(number), tmp_path / "games")
    found = inspect(folder, play, tmp_path / "episodes", InspectionConfig(levels=3, seeds=2))
    assert found.complaints == ()
    assert found.figures["reference"] == 1 and found.figures["chance"] < 0.5
    # and is a task like any other, called by its folder
    game = load_playable(str(folder))
    task = sample_task(str(folder), "train", 0, 0, {"level": 2})
    assert task.max_steps == game.steps_for({"level": 2}) and "/" not in task.id
    with pytest.raises(InputError, match="option level"):
        sample_task(str(folder), "train", 0, 0, {"level": 0})


@pytest.mark.browser
def test_the_marked_corner_of_a_flood_stands_out_from_its_colour(tmp_path: pathlib.Path) -> None:
    """At the policy's size: between the middle of the mark and the tile around it, by WCAG's ratio of luminances."""
    floods = [
        source for seed in range(4) for source in map(TemplateAuthor(seed).write, range(8)) if "flood" in source.name
    ]
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 96, "height": 96})
        for number, source in enumerate(floods):
            page.goto((write_game(source, tmp_path / str(number)) / "index.html").as_uri())
            board = page.evaluate("game.start({ seed: 3, level: 8 }); game.state().board")
            right, lower = json.loads(source.scripts["parameters.js"].partition("PARAMETERS = ")[2].split(";\n")[0])[
                "corner"
            ]
            left = board["x"] + right * (board["width"] - board["cell"])
            top = board["y"] + lower * (board["height"] - board["cell"])
            pixels = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
            mark = luminance(pixels[int(top + board["cell"] / 2), int(left + board["cell"] / 2)])
            tile = luminance(pixels[int(top + 1), int(left + 1)])
            bright, dark = max(mark, tile), min(mark, tile)
            assert (bright + 0.05) / (dark + 0.05) > 2.5, source.scripts["parameters.js"]


def luminance(colour: np.ndarray) -> float:
    x = colour / 255
    return float(np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def broken(script: str, old: str, new: str) -> GameSource:
    """The toggling game with one change."""
    source = TemplateAuthor(5).write(0)
    assert old in source.scripts[script]
    return dataclasses.replace(source, scripts={**source.scripts, script: source.scripts[script].replace(old, new)})


ALL = "filter(([column, row]) => left[row][column])"
FAULTS = {  # file, what stands there, what is put there, what the inspection says
    "memory of earlier episodes": ("game.js", '"toggle", seed', '"toggle", (window.n = -~window.n)', "determinis"),
    "a reference that loses": ("reference.js", ALL, "filter(() => true)", "does not win level"),
    "won at once": ("verify.js", "light === 0", "light < 2", "an episode must begin with score 0"),
    "a score that falls": ("game.js", "best = Math.min(best, count())", "best = count()", "the score falls"),
    "two opinions": ("verify.js", "return { score,", "return { score: score + 1,", "disagree on score"),
    "no page": ("game.js", "const game", "const game = = (", "cannot start"),
    "trivial": ("game.js", "    press(...cell);", "    lit.forEach((line) => line.fill(0));", "it is trivial"),
    "no verdict": ("verify.js", "return { score,", "return null && { score,", "verify() must give a verdict; got None"),
    "a late error": ("verify.js", "return { score,", "if (score) throw Error('late'); return { score,", "late"),
    "a socket": ("verify.js", "return { score,", "new WebSocket('ws://a.example'); return { score,", "reach ws:"),
    "another address": ("game.js", "    press(...cell);", "    location.href = 'http://a.example/';", "(navigation)"),
    "no moves": ("reference.js", "legal: places.map(move)", "legal: []", "knows no move"),
    "a late level that fails": (
        "game.js",
        "begun = best",
        "if (level > 7) throw Error('eighth'); begun = best",
        "eighth",
    ),
    "a late level nobody wins": ("reference.js", ALL, ALL.replace("=> ", "=> size < 5 && "), "does not win level 7"),
}


@pytest.mark.browser
@pytest.mark.parametrize(
    "fault", [*list(FAULTS)[::2], *(pytest.param(f, marks=pytest.mark.full) for f in list(FAULTS)[1::2])]
)
@pytest.mark.first(3)
def test_what_is_wrong_is_said(fault: str, play: Play, tmp_path: pathlib.Path) -> None:
    script, old, new, words = FAULTS[fault]
    checks = InspectionConfig(levels=2, seeds=2)
    found = inspect(write_game(broken(script, old, new), tmp_path / "games"), play, tmp_path / "e", checks)
    assert not found.admitted and any(words in complaint for complaint in found.complaints), found.complaints


def test_a_page_that_hangs_is_waited_for_once(tmp_path: pathlib.Path) -> None:
    waited: list[int] = []

    def hangs(player: str, tasks: Sequence[Task], folder: pathlib.Path) -> list[Trajectory]:
        waited.append(len(tasks))
        return []

    folder = write_game(TemplateAuthor(5).write(0), tmp_path / "games")
    found = inspect(folder, hangs, tmp_path / "e", InspectionConfig())
    assert found.complaints == ("the page failed or hung while it was played (again)",)
    assert waited == [1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metadata": {"name": "../x", "title": "x", "instruction": "x", "levels": []}}, "metadata: field"),
        ({"scripts": {"game.js": "x", "verify.js": "x"}}, "got no reference.js"),
        (
            {"scripts": {**dict.fromkeys(("game.js", "verify.js", "reference.js"), "x"), "../x.js": "x"}},
            "a script's name must be",
        ),
        ({"scripts": dict.fromkeys(("game.js", "verify.js", "reference.js"), "x" * 90_000)}, "at most 200000"),
        (
            {"scripts": dict.fromkeys(("game.js", "verify.js", "reference.js", "hints.js"), "x")},
            "a script's name must be",
        ),
        ({"scripts": dict.fromkeys(("game.js", "verify.js", "reference.js"), "x\ud800")}, "half a character"),
        ({"metadata": dict(TemplateAuthor(5).write(0).metadata) | {"name": "kit"}}, "metadata: field"),
        ({"metadata": dict(TemplateAuthor(5).write(0).metadata) | {"title": "\ud800"}}, "half a character"),
    ],
)
def test_a_source_that_is_none_writes_nothing(change: dict[str, Any], words: str, tmp_path: pathlib.Path) -> None:
    source = dataclasses.replace(TemplateAuthor(5).write(0), **change)
    with pytest.raises(InputError, match=words):
        write_game(source, tmp_path / "games")
    assert not (tmp_path / "games").exists()


def test_a_name_is_given_once(tmp_path: pathlib.Path) -> None:
    write_game(TemplateAuthor(5).write(0), tmp_path)
    with pytest.raises(InputError, match="a game's name must be new"):
        write_game(TemplateAuthor(5).write(0), tmp_path)


@pytest.mark.parametrize(
    "move", [7, {}, {"thought": "x", "key": "enter"}, {"thought": "x", "click": [1]}, {"thought": "x", "click": [1, 1]}]
)
def test_a_move_that_is_none_is_named(move: Any) -> None:
    with pytest.raises(InputError, match="its reference player's move must be"):
        page_player.play({"game": "x", "reference": {"good": [move], "legal": []}}, random.Random(0))


@pytest.mark.parametrize("found", [None, [], {"good": []}, {"good": None, "legal": [1]}])
def test_a_reference_without_moves_is_named(found: Any) -> None:
    with pytest.raises(InputError, match="must give good and legal moves"):
        page_player.play({"game": "x", "reference": found}, random.Random(0))


def answer(source: GameSource) -> str:
    blocks = [
        ("json metadata.json", json.dumps(dict(source.metadata))),
        *((f"js {n}", t) for n, t in source.scripts.items()),
    ]
    return "Here it is.\n\n" + "\n\n".join(f"```{head}\n{body}\n```" for head, body in blocks) + "\n\nEnjoy."


def test_a_model_writes_hears_and_mends() -> None:
    asked: list[Any] = []
    source = TemplateAuthor(5).write(2)

    async def complete(request: Request) -> Response:
        asked.append(json.loads(await request.body()))
        text = answer(source) if len(asked) > 1 else "I had rather not."
        return JSONResponse({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    with serving(app, ServerConfig(port=0)) as address:
        author = ModelAuthor(f"{address}/v1", "theirs")
        with pytest.raises(InputError, match="no block"):
            author.write(0)
        written = author.write(0, ["the answer has no block"])
    assert written.metadata == source.metadata
    assert {name: text.strip() for name, text in written.scripts.items()} == {
        name: text.strip() for name, text in source.scripts.items()
    }
    roles = [message["role"] for message in asked[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "- the answer has no block" in asked[1]["messages"][3]["content"]


def test_what_an_author_offers_again_is_not_played_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[pathlib.Path] = []

    def inspected(folder: pathlib.Path, *_: Any) -> Inspection:
        played.append(folder)
        return Inspection(("it is trivial",), {})

    monkeypatch.setattr("experiments.synthesize_games.inspect", inspected)
    root = pathlib.Path(__file__).resolve().parents[2]
    config = load_config("synthesize_games", ["--config.attempts=3"], root=root)
    result = attempt(config, tmp_path, TemplateAuthor(5), 0, lambda *_: [])
    assert (result["admitted"], result["complaints"], len(played)) == (False, ["it is trivial"], 1)


@pytest.mark.full
@pytest.mark.browser
def test_an_endpoint_that_never_gives_a_game_costs_that_game_alone(tmp_path: pathlib.Path) -> None:
    good = answer(TemplateAuthor(5).write(0))
    contents: list[Any] = ["I had rather not.", [{"type": "text", "text": good}], good]
    asked: list[Any] = []

    async def complete(request: Request) -> Response:
        asked.append(json.loads(await request.body())["messages"])
        if len(asked) == 1:
            return Response("<html>", 500)
        if len(asked) == 2:
            return Response("<html>")
        message = {"content": contents[min(len(asked) - 3, 2)]}
        return JSONResponse({"choices": [{"message": message, "finish_reason": "stop"}]})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    with serving(app, ServerConfig(port=0)) as address:
        flags = ["author=" + address, "model=theirs", "games=2", "attempts=4", "inspection.levels=1"]
        flags += ["inspection.seeds=2", "inspection.most_random=1", "inspection.most_chance=1", "browser.pages=2"]
        root = pathlib.Path(__file__).resolve().parents[2]
        config = load_config("synthesize_games", [f"--config.{flag}" for flag in flags], root=root)
        with RunDirectory.create(tmp_path / "run", config.to_dict(), "synthesize_games") as run_directory:
            run(config, run_directory)
    games = json.loads((tmp_path / "run/result.json").read_text())["games"]
    assert (games["0"]["admitted"], games["1"]["admitted"]) == (False, True)
    no_game, no_completion = games["0"]["complaints"]
    assert "no block" in no_game and "no chat completion" in no_completion
    assert [len(messages) for messages in asked] == [2, 2, 2, 4, 2]  # nobody is told to mend what the endpoint did
    # killed after the result was written, before the game was copied
    kept = sorted(path.relative_to(tmp_path) for path in (tmp_path / "run/games").rglob("*"))
    shutil.rmtree(tmp_path / "run/games")
    with RunDirectory.create(tmp_path / "run", config.to_dict(), "synthesize_games") as run_directory:
        run(config, run_directory)
    assert sorted(path.relative_to(tmp_path) for path in (tmp_path / "run/games").rglob("*")) == kept


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, {"message": "wrong key"}, "The author at http.* refuses to write: client.api_key"),
        (404, {"message": "no model x"}, "The author at http.* refuses to write: .*no model x"),
        (503, {"message": "starting"}, "The author has not answered 2 times: .*starting"),
        (400, {"message": "long", "code": "context_length_exceeded"}, ""),
    ],
)
def test_what_is_the_endpoint_s_fault_is_no_game_s_result(
    tmp_path: pathlib.Path, status: int, error: Any, words: str
) -> None:
    """But for what is a matter of this game alone. A run that ended so can be resumed: the game has no result yet."""

    async def refuse(request: Request) -> Response:
        return JSONResponse({"error": error}, status)

    paths = ["/v1/chat/completions", *(["/v1/rl/policy"] if status == 401 else [])]
    app = Starlette(routes=[Route(path, refuse, methods=["GET", "POST"]) for path in paths])
    root = pathlib.Path(__file__).resolve().parents[2]
    config = load_config("synthesize_games", ["--config.attempts=2"], root=root)
    with serving(app, ServerConfig(port=0)) as address:
        author = ModelAuthor(address, "theirs")
        if words:
            with pytest.raises(GaveUp, match=words):
                attempt(config, tmp_path, author, 0, lambda *_: [])
        else:
            result = attempt(config, tmp_path, author, 0, lambda *_: [])
            assert not result["admitted"] and "long" in result["complaints"][0]


def test_an_answer_with_windows_line_ends_is_read() -> None:
    source = TemplateAuthor(5).write(2)
    assert read_answer(answer(source).replace("\n", "\r\n")) == read_answer(answer(source))


@pytest.mark.parametrize("metadata", ["[" * 100_000, '{"levels": ' + "9" * 5000 + "}", "{"])
def test_metadata_that_python_cannot_read_is_the_authors_to_mend(metadata: str) -> None:
    with pytest.raises(InputError, match=r"metadata\.json is not JSON"):
        read_answer(f"```json metadata.json\n{metadata}\n```")


def test_the_form_shows_an_example_that_can_be_read_back() -> None:
    told = form()
    example = read_answer(told[told.index("An example that was admitted") :])
    assert example.metadata == TemplateAuthor(0).write(0).metadata
    assert "maze_path_of_light" in told and "flood" in told  # what is there already
