"""Every level can be done by its own solution with a real bash, and by nothing less."""

from __future__ import annotations

import io
import random
import subprocess
import tarfile
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.home import File, read_home
from tars_jax.tasks.computer.scene import ComputerScene, SceneOutcome
from tars_jax.tasks.computer.steps import Step
from tars_jax.tasks.computer.terminal import TERMINAL_TASKS

LEVELS = (1, 3)


def scene(name: str, level: int, seed: int) -> ComputerScene:
    return TERMINAL_TASKS[name](random.Random(seed), level)


def lay_out(scene: ComputerScene, home: Path) -> None:
    for folder in scene.folders:
        (home / folder).mkdir(parents=True)
    for path, file in scene.files.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(file.data)
        (home / path).chmod(0o755 if file.executable else 0o644)


def seen(home: Path, answer: str | None = None) -> SceneOutcome:
    return SceneOutcome(*read_home(home), answer)


def run(steps: tuple[Step, ...], home: Path) -> str:
    said = ""
    for command in steps:
        assert isinstance(command, str)
        done = subprocess.run(["bash", "-c", command], cwd=home, capture_output=True, encoding="utf-8", check=True)
        said = done.stdout
    return said


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", TERMINAL_TASKS)
def test_its_solution_does_it_and_nothing_does_not(name: str, level: int, tmp_path: Path) -> None:
    for seed in range(5):
        home = tmp_path / str(seed)
        home.mkdir()
        made = scene(name, level, seed)
        lay_out(made, home)
        assert seen(home) == made.first
        assert made.goal(seen(home)), "it was done before it began"
        assert made.goal(seen(home, "")), "an empty answer did it"
        said = run(made.solution, home)
        if made.answer is not None:
            assert made.goal(seen(home)), "it was done without an answer"
            assert made.answer in said, "the solution does not find the answer"
            assert made.goal(seen(home, made.answer + "0"))
        assert made.goal(seen(home, made.answer)) == ""
        (home / "further.txt").write_text("?")
        assert made.goal(seen(home, made.answer)), "a file too many was not seen"


@pytest.mark.parametrize("name", TERMINAL_TASKS)
def test_a_level_is_its_seed(name: str) -> None:
    first, again = scene(name, 2, 7), scene(name, 2, 7)
    assert (first.instruction, first.files, first.solution) == (again.instruction, again.files, again.solution)
    others = [scene(name, 2, seed) for seed in range(8)]
    assert len({(other.instruction, tuple(sorted(other.files.items(), key=str))) for other in others}) > 5


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("move_file", "mv *.txt {folder}"),
        ("find_word", "cp *.txt {folder}"),
        ("rename_endings", 'for f in *; do mv "$f" "$f.md"; done'),
        ("delete_empty", "find . -type f -delete"),
        ("replace_word", "sed -i 's/{word}/x/g' *.txt"),
        ("pack_folder", "tar czf {folder}.tar.gz --files-from /dev/null"),
        ("pack_folder", "touch {folder}.tar.gz"),
        ("run_script", "chmod +x say.sh; cp say.sh said.txt"),
        ("sort_by_ending", "mkdir -p txt csv log md; mv *.* txt"),
        ("remove_copies", "rm *.txt"),
        ("change_setting", "echo '{{}}' > settings.json"),
        ("sum_column", "ln -s /dev/stdout total.txt"),
    ],
)
def test_a_short_cut_does_not_do_it(name: str, command: str, tmp_path: Path) -> None:
    made = scene(name, 2, 3)
    lay_out(made, tmp_path)
    words = made.instruction.rstrip(".").split()
    folder = next((word for word in words if word in made.first.folders), "box")
    word = words[words.index("word") + 1] if "word" in words else ""
    subprocess.run(["bash", "-c", command.format(folder=folder, word=word)], cwd=tmp_path, check=False)
    assert made.goal(seen(tmp_path, ""))


def test_an_archive_that_would_unpack_to_a_disk_full_is_none(tmp_path: Path) -> None:
    made = scene("pack_folder", 1, 0)
    folder = next(iter(made.files)).split("/")[0]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo(f"{folder}/bomb")
        member.size = 8 << 20
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    assert "no such archive" in made.goal(SceneOutcome({**made.files, f"{folder}.tar.gz": File(packed.getvalue())}))
