"""desktop-env's own metrics over files, with the packages of launch/osworld.lock: 1 for what is equal alone."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Finished
from tars_jax.environment import EnvironmentFailure, Task, Transition
from tars_jax.envs.benchmarks.osworld import OSWorldEnvironment
from tars_jax.envs.benchmarks.osworld.scoring import Scorer, scorer_python
from tars_jax.tasks.benchmarks.catalog import read_benchmark
from tests.envs.benchmarks.osworld_stand_in import step, task, write_tasks
from tests.sandbox.desktop.conftest import require_desktop

pytestmark = [pytest.mark.multiprocess, pytest.mark.full]
# Three files of each kind; the third is another.
MAKE = """
import json, zipfile
import docx, fitz, openpyxl, pptx
from PIL import Image
for name, fruit in (("a", "plum"), ("b", "plum"), ("c", "fig")):
    document = docx.Document()
    document.add_paragraph(f"One {fruit}.").runs[0].bold = True
    document.add_table(1, 1).cell(0, 0).text = fruit
    document.save(f"{name}.docx")
    book = openpyxl.Workbook()
    book.active.append(["name", "count"])
    book.active.append([fruit, 3])
    book.save(f"{name}.xlsx")
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = fruit
    slides.save(f"{name}.pptx")
    Image.radial_gradient("L").convert("RGB").rotate(0 if fruit == "plum" else 60).save(f"{name}.png")
    page = fitz.open()
    page.new_page().insert_text((72, 72), f"One {fruit} and nothing else")
    page.save(f"{name}.pdf")
    with zipfile.ZipFile(f"{name}.zip", "w") as file:
        file.writestr("fruit.txt", fruit)
    for kind, text in (("txt", fruit), ("csv", f"name,count\\n{fruit},3\\n"), ("html", f"<p>{fruit}</p>")):
        with open(f"{name}.{kind}", "w") as file:
            file.write(text)
"""
SHEETS = {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}]}
METRICS = [
    ("compare_docx_files", "docx", {}), ("compare_docx_tables", "docx", {}), ("compare_table", "xlsx", SHEETS),
    ("compare_pptx_files", "pptx", {}), ("check_structure_sim", "png", {}), ("compare_pdfs", "pdf", {}),
    ("compare_zip_files", "zip", {}), ("compare_text_file", "txt", {}), ("compare_csv", "csv", {}),
    ("compare_htmls", "html", {}),
]  # fmt: skip


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return scorer_python()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def files(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    subprocess.run([python, "-c", MAKE], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def scorer(runner: asyncio.Runner, python: Path) -> Iterator[Scorer]:
    scorer = Scorer(python)
    yield scorer
    runner.run(scorer.close())


def score(runner: asyncio.Runner, scorer: Scorer, cache: Path, func: str, one: str, other: str, options: Any) -> float:
    evaluator = {
        "func": func, "result": {"type": "cache_file", "path": one}, "options": options,
        "expected": {"type": "cloud_file", "path": "https://example.org/gold", "dest": other},
    }  # fmt: skip
    request = {
        "evaluator": evaluator, "cache": str(cache), "host": "any:token@127.0.0.1", "ports": {"server": 9},
        "last": "DONE", "size": [1920, 1080], "platform": "Linux",
    }  # fmt: skip
    return runner.run(scorer.score(request, 120.0))[0]


@pytest.mark.parametrize(("func", "kind", "options"), METRICS)
def test_files(
    runner: asyncio.Runner, scorer: Scorer, files: Path, func: str, kind: str, options: dict[str, Any]
) -> None:
    assert score(runner, scorer, files, func, f"a.{kind}", f"b.{kind}", options) == 1.0
    assert score(runner, scorer, files, func, f"a.{kind}", f"c.{kind}", options) < 1.0


def test_tabs_of_chrome_are_opened_and_read(runner: asyncio.Runner, python: Path, tmp_path: Path) -> None:
    require_desktop()
    if shutil.which("chromium") is None or shutil.which("socat") is None:
        pytest.skip("needs the applications of launch/osworld.sh")
    addresses = [f"http://localhost:8000/{name}.html" for name in "ab"]
    evaluator = {
        "func": "is_expected_tabs", "result": {"type": "open_tabs_info"},
        "expected": {"type": "rule", "rules": {"type": "url", "urls": addresses}},
    }  # fmt: skip
    config = [
        step("execute", command="mkdir ~/site; cd ~/site; touch a.html b.html", shell=True),
        step("launch", command="cd ~/site && exec python3 -m http.server 8000", shell=True),
        step("launch", command=["google-chrome", "--remote-debugging-port=1337"]),
        step("launch", command=["socat", "tcp-listen:9222,fork", "tcp:localhost:1337"]),
        step("chrome_open_tabs", urls_to_open=addresses),
    ]
    write_tasks(tmp_path, {"chrome": [task("tabs", "Leave them.", evaluator, *config)]})

    async def played() -> Transition:
        environment = OSWorldEnvironment(read_benchmark("osworld", str(tmp_path)), settle=0)
        try:
            await environment.reset(Task("t", "osworld", 0, {}, 1))
            return await environment.step([Finished("")])
        finally:
            await environment.close()

    assert runner.run(played()).reward == 1.0


def test_a_file_that_is_none_of_its_kind_is_zero(runner: asyncio.Runner, scorer: Scorer, files: Path) -> None:
    for kind in ("docx", "xlsx", "pptx", "png", "pdf", "zip"):
        (files / f"broken.{kind}").write_text("no such file")
        func, _, options = next(each for each in METRICS if each[1] == kind)
        assert score(runner, scorer, files, func, f"broken.{kind}", f"b.{kind}", options) == 0.0, kind


def test_what_was_not_installed_is_no_score(runner: asyncio.Runner, scorer: Scorer, files: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="easyocr is not installed"):
        evaluator = {
            "func": "compare_image_text", "result": {"type": "cache_file", "path": "a.png"},
            "expected": {"type": "rule", "rules": {"type": "text", "text": "plum"}},
        }  # fmt: skip
        request = {
            "evaluator": evaluator, "cache": str(files), "host": "any:token@127.0.0.1", "ports": {"server": 9},
            "last": "DONE", "size": [1920, 1080], "platform": "Linux",
        }  # fmt: skip
        runner.run(scorer.score(request, 120.0))
