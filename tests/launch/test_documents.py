"""What documents mention exists, rooms are told in one page, and the catalogue of commands is whole."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command import experiment_names
from tars_jax.pipelines.config import flatten, load_config

FOLDERS = ("tars_jax", "experiments", "configs", "launch", "tests", "notebooks", "docs", ".ci")
CODE = (".py", ".js", ".sh", ".toml", ".json", ".html", ".css", ".ipynb", ".yaml", ".lock")
DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tests/benchmarks/README.md")),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "tars_jax").rglob("README.md"),
    ]
)
ROOMS = [file for file in DOCUMENTS if file.is_relative_to(ROOT / "tars_jax")]
# What runs, games and sandboxes write, and what others have: not files of this repository.
WRITTEN = {
    "game.json", "index.html", "guard.js", "hints.js",  # of a game that was synthesized
    "result.json", "report.html", "metrics.jsonl", "timeline.json", "checkpoint.json", "messages.jsonl", "output.log",
    "trajectories.parquet", "stages.json", "environment.json", "levels.txt", "arrivals.txt", "journal.jsonl",
}  # fmt: skip
WRITTEN_FOLDERS = {"kit", "tensorboard", "images", "runs", "trajectories", "policy", "checkpoints", "node_modules"}
FILE = re.compile(r"\.?[\w*./-]+\.(py|js|css|json|jsonl|sh|md|ipynb|html|svg|png|jpg|txt|lock|toml|yaml|parquet)")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(.*\))?")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\bX\b|[<>…]|\.\.\.")
COMMAND = re.compile(r"(?:\./)?launch/(\w+\.sh)\b(.*)|\btars-jax (.*)")


@functools.cache
def files() -> tuple[Path, ...]:
    """The repository's own, without what runs and caches have left in it."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    return (*found, *ROOT.glob("*.*"), *(ROOT / each for each in (".venv", ".cache")))


@functools.cache
def code() -> str:
    sources = (path for path in files() if path.suffix in CODE and path.is_file() and path != Path(__file__))
    return "\n".join(path.read_text("utf-8", "replace") for path in sources)


@functools.cache
def words() -> frozenset[str]:
    """Every name that code has, and every file."""
    return frozenset(re.findall(r"\w+", code())) | {path.stem for path in files()}


def quoted(file: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", file.read_text("utf-8"), flags=re.DOTALL)
    for span in re.findall(r"`([^`]+)`", text):
        yield " ".join(span.split())


def commands(file: Path) -> Iterator[str]:
    """Of blocks, of indented lines and of what is quoted; what follows a # is about them."""
    for line in [*file.read_text("utf-8").splitlines(), *quoted(file)]:
        if (found := COMMAND.search(re.split(r"`|\s#\s", line.strip().lstrip("`"))[0])) and "http" not in line:
            yield found.group(0).rstrip(" ,.;:)")


def is_there(path: str, document: Path) -> bool:
    """From the root, from the document, or, for a room or a document of details, the end of a path."""
    pattern = path.strip("/").removeprefix("./")
    if any(place.joinpath(pattern).exists() for place in (ROOT, document.parent, ROOT / "tars_jax")):
        return True
    if "*" in pattern:
        return any(document.parent.rglob(pattern))
    below = document.parent if document in ROOMS else ROOT
    return any(
        f"/{each.relative_to(ROOT).as_posix()}".endswith(f"/{pattern}") for each in files() if below in each.parents
    )


def is_module(dotted: str) -> bool:
    """A module, or a name that its file or its package's mentions."""
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:size])
        found = [each for each in (place.with_suffix(".py"), place / "__init__.py") if each.exists()]
        if found or place.is_dir():
            inside = [*found, *place.glob("*.py")]
            rest = parts[size:]
            return not rest or any(re.search(rf"\b{rest[0]}\b", each.read_text("utf-8")) for each in inside)
    return False


def stale(document: Path) -> list[str]:
    missing = []
    for span in quoted(document):
        if PLACEHOLDER.search(span):
            continue
        if FILE.fullmatch(span):
            if Path(span).name not in WRITTEN and not is_there(span, document):
                missing.append(f"{span} is no file")
        elif re.fullmatch(r"[\w./-]+/", span):
            if span.strip("/").rpartition("/")[2] not in WRITTEN_FOLDERS and not is_there(span, document):
                missing.append(f"{span} is no folder")
        elif re.fullmatch(r"tars_jax(\.\w+)+(\(.*\))?", span):
            if not is_module(span.partition("(")[0]) and f'"{span}"' not in code():  # such as a group of entry points
                missing.append(f"{span} is no module and no name in one")
        elif NAME.fullmatch(span):
            missing += [
                f"{span} is no name of the code" for each in re.findall(r"[A-Za-z_]\w*", span) if each not in words()
            ]
    return [*missing, *(complaint for command in commands(document) if (complaint := wrong_with(command)))]


def wrong_with(command: str) -> str:
    """Of a script or an experiment that is not there, or a field that it does not have; empty where all is."""
    found = COMMAND.fullmatch(command)
    assert found is not None, command
    script, after, installed = found.groups()
    if script and not (ROOT / "launch" / script).exists():
        return f"{command}: no launch/{script}"
    arguments = (after or installed or "").split()
    if script in ("processes.sh", "tpu.sh"):
        arguments = [each for each in arguments if not each.isdigit() and not each.isupper()]
    if not arguments or script in ("test.sh", "lock.sh", "gpu_bench.sh"):
        return ""
    name, flags = arguments[0], arguments[1:]
    if PLACEHOLDER.search(name) or name.startswith("-") or script == "fresh_machine.sh":
        return ""
    if name not in experiment_names(ROOT):
        return f"{command}: no such experiment"
    known = flatten(load_config(name, [], root=ROOT, rules={}))
    fields = [flag[len("--config.") :].partition("=")[0] for flag in flags if flag.startswith("--config.")]
    unknown = [field for field in fields if field not in known and not PLACEHOLDER.search(field)]
    return f"{command}: no field {', '.join(unknown)}" if unknown else ""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_a_document_mentions_exists(document: Path) -> None:
    assert stale(document) == []


def test_what_does_not_exist_is_found(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text(
        "`gone.py` `nowhere/` `tars_jax.rl.forgotten` `NoSuchNameAnywhereInIt`, and `pyproject.toml`,\n"
        "```\n./launch/local.sh nothing\n./launch/local.sh merge --config.no_field=1\n./launch/gone.sh merge\n```\n"
    )
    assert [each.split(" ")[0] for each in stale(document)][:4] == [
        "gone.py", "nowhere/", "tars_jax.rl.forgotten", "NoSuchNameAnywhereInIt",
    ]  # fmt: skip
    assert [each.rpartition(": ")[2] for each in stale(document)][4:] == [
        "no such experiment", "no field no_field", "no launch/gone.sh",
    ]  # fmt: skip


@pytest.mark.parametrize("document", ROOMS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_room_is_told_in_one_page(document: Path) -> None:
    assert len(document.read_text("utf-8").split()) <= 600


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 700


def test_the_catalogue_has_every_command_and_no_other() -> None:
    text = (ROOT / "docs" / "commands.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert sorted(listed) == experiment_names(ROOT)


def test_every_room_has_a_page() -> None:
    rooms = {path.parent for path in (ROOT / "tars_jax").glob("*/__init__.py")}
    assert {room.name for room in rooms if not (room / "README.md").exists()} == set()
