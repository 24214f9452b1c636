"""The house of floors, as CONTRIBUTING draws it: lower floors import no upper ones, and neighbors not each other."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tars_jax.pipelines.checkout import ROOT

# What everybody may take.
SHELF = (
    "web", "files", "decoding", "json_fields", "launcher", "pictures", "plugins", "rules", "trajectory", "environment",
)  # fmt: skip
FLOORS = (
    (*SHELF, "episodes", "model", "rl", "sandbox"),
    ("agent", "tasks", "inference"),
    ("envs", "training", "judges"),
    ("rollout", "data", "annotation"),
    ("pipelines", "evaluation"),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# An agent's function is called as the event that it makes: pyautogui and the browser have one name for both.
ACTIONS_AND_EVENTS = ("MouseDown", "MouseUp")
NEIGHBORS = {  # who may take from whom
    ("rollout", "data"),
    ("pipelines", "evaluation"),
    ("annotation", "data"),
    ("annotation", "rollout"),
}


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports by whole names"
            yield from (f"{node.module}.{each.name}" for each in node.names)


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "tars_jax" else ""


@pytest.mark.parametrize("room", sorted(FLOOR))
def test_a_room_imports_what_lies_below(room: str) -> None:
    place = ROOT / "tars_jax" / room
    for file in [*place.rglob("*.py"), *([place.with_suffix(".py")] if place.with_suffix(".py").exists() else [])]:
        for module in imported(file):
            other = room_of(module)
            assert module.split(".")[0] not in ("experiments", "configs"), f"{file} imports {module}"
            if other in FLOOR and other != room and other not in SHELF and (room, other) not in NEIGHBORS:
                assert FLOOR[other] < FLOOR[room], f"{file} imports {module}"


def test_every_room_has_its_floor() -> None:
    rooms = {path.name for path in (ROOT / "tars_jax").iterdir() if (path / "__init__.py").exists()}
    assert rooms <= set(FLOOR)


@pytest.mark.parametrize("file", sorted((ROOT / "experiments").glob("*.py")), ids=lambda file: file.stem)
def test_no_experiment_imports_another(file: Path) -> None:
    others = {each.stem for each in (ROOT / "configs").glob("*.py")} - {"__init__"}
    for module in imported(file):
        parts = module.split(".")
        assert parts[0] != "experiments" or parts[1] not in others, f"{file} imports {module}"


@pytest.mark.parametrize("folder", ["tars_jax", "experiments", "configs"])
def test_what_is_installed_takes_no_checkout(folder: str) -> None:
    """A recipe that names a module of the tests runs where these lie alone."""
    files = [file for file in (ROOT / folder).rglob("*.py") if "__pycache__" not in file.parts]
    assert files and not [str(file) for file in files if re.search(r"\btests\.\w+", file.read_text("utf-8"))]


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """What reaches itself, as the sets of those that reach each other (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            at = stack.index(node)
            circle = set(stack[at:])
            del stack[at:]
            if len(circle) > 1:
                found.append(circle)

    for node in graph:
        if node not in order:
            visit(node)
    return found


def test_imports_have_no_circles() -> None:
    """Of files, and of folders; what is imported for types alone or within a function counts."""
    files = {file: file.relative_to(ROOT) for file in (ROOT / "tars_jax").rglob("*.py")}
    modules = {".".join(short.with_suffix("").parts).removesuffix(".__init__"): file for file, short in files.items()}
    graph: dict[str, set[str]] = {}
    folders: dict[str, set[str]] = defaultdict(set)
    for module, file in modules.items():
        named = {name if name in modules else name.rpartition(".")[0] for name in imported(file)}
        graph[module] = {name for name in named if name in modules and name != module}
        here = str(files[file].parent)
        folders[here] |= {str(files[modules[name]].parent) for name in graph[module]} - {here}
    assert circles(graph) == []
    assert circles(folders) == []


def test_a_class_name_stands_for_one_thing() -> None:
    places = defaultdict(list)
    for file in (ROOT / "tars_jax").rglob("*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(file.relative_to(ROOT)))
    doubles = {name: files for name, files in places.items() if len(files) > 1}
    assert not {name: files for name, files in doubles.items() if name not in ACTIONS_AND_EVENTS}
