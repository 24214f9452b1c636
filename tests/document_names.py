"""Names of documents and of comments, looked up: files, modules, classes, functions, fields, programs, extras."""

import ast
import functools
import io
import json
import re
import tokenize
import tomllib
from pathlib import Path

from tars_jax.pipelines.checkout import ROOT
from tests.document_commands import PLACEHOLDER, blocks, config_fields, quoted, whole_lines

FOLDERS = ("tars_jax", "experiments", "configs", "launch", "tests", "notebooks", "docs", ".ci")
CODE = (".py", ".js", ".sh", ".toml", ".json", ".html", ".css", ".ipynb", ".yaml", ".lock")
DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tests/benchmarks/README.md")),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tars_jax").rglob("README.md"),
    ]
)
ROOMS = [file for file in DOCUMENTS if file.is_relative_to(ROOT / "tars_jax")]
# What runs, games and sandboxes write, and what others have: not files of this repository.
WRITTEN = {
    "game.json", "index.html", "guard.js", "hints.js",  # of a game that was synthesized
    "summary.json",  # of benchmarks
    "test_all.json", "test_small.json", "result.txt", "traj.jsonl", "show_result.py",  # of OSWorld's own
    "result.json", "report.html", "metrics.jsonl", "timeline.json",
    "recording.json", "events.jsonl", "preferences.jsonl", "report.md", "plan.md",
    "arrivals.txt", "journal.jsonl",
}  # fmt: skip
WRITTEN_FOLDERS = {"kit", "tensorboard", "frames", "voice", "accessibility"}
# Names that others have, or that a run makes.
OF_OTHERS = {
    "IncrementalCheckpointer", "process_episodes", "browse_comp_test_set", "results_2", "level2_4_9", "stale_N",
    "_meta", "tmux", "cost_analysis", "aw.toml", "./revert.sh", "mine.py", "game.canvas",
}  # fmt: skip
IN_COMMENTS = {  # of others, of users, or what a run writes
    "Node.js", "xterm.js", "my_judge.py", "my_player.py", "table.md", "suites.md", "agreement.md",
    "gpu_bench.md", "android_world/env/json_action.py", "actuation.py", "server/android_server.py",
    "gamingagent/envs/gym_env_adapter.py", "gamingagent/envs/retro_02_ace_attorney/aceAttorneyEnv.py",
    "run_acc_calibration_error.py",
}  # fmt: skip
CLASSES_OF_OTHERS = {
    "Search", "LinkReader", "Forwarded", "PythonController", "SetupController", "CaptureSession", "RemoteRuntime",
    "Math", "IncrementalCheckpointer", "SettingsOpenVerify",
}  # fmt: skip
ATTRIBUTES = {"task.verification", "agent.finish", "execution.capacity"}  # they look like fields of configs
FILE = re.compile(r"\.?[\w*./-]+\.(py|js|css|json|jsonl|sh|md|ipynb|html|svg|png|jpg|txt|lock|toml|yaml|parquet)")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(.*\))?")
PROGRAM = re.compile(r"python3? (?:-m )?((?:tars_jax(?:\.\w+)+)|(?:tests/[\w/]+\.py))([^`|&;#]*)")


TELLS = (Path(__file__), ROOT / "tests/launch/test_documents.py")  # which name what there is not


@functools.cache
def files() -> tuple[Path, ...]:
    """The repository's own, without what runs and caches have left in it."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    return (*found, *ROOT.glob("*.*"), *(ROOT / each for each in (".venv", ".cache")))


@functools.cache
def code() -> dict[Path, str]:
    sources = (path for path in files() if path.suffix in CODE and path.is_file() and path not in TELLS)
    return {path: path.read_text("utf-8", "replace") for path in sources}


@functools.cache
def names() -> frozenset[str]:
    """Every name that code has, and every file; comments and docstrings of Python name nothing."""
    found = {path.stem for path in files()} | OF_OTHERS
    for path, text in code().items():
        told = (
            re.sub(r'^ *r?"""[\s\S]*?"""|(?:^|\s)# .*$', "", text, flags=re.MULTILINE) if path.suffix == ".py" else text
        )
        found.update(re.findall(r"\w+", told))
    return frozenset(found)


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
            group = f'"{span}"'  # of entry points
            if not is_module(span.partition("(")[0]) and not any(group in text for text in code().values()):
                missing.append(f"{span} is no module and no name in one")
        elif NAME.fullmatch(span):
            missing += [
                f"{span} is no name of the code" for each in re.findall(r"[A-Za-z_]\w*", span) if each not in names()
            ]
    return missing


def stale_in_notebook(notebook: Path) -> list[str]:
    """Imports of its code, and what its text quotes."""
    missing = []
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            found = re.findall(r"^from (tars_jax[\w.]*) import \(?([^#\n)]+)", text, flags=re.MULTILINE)
            wanted = [
                f"{module}.{each.split()[0]}" for module, names in found for each in names.split(",") if each.strip()
            ]
            missing += [each for each in wanted if not is_module(each)]
        else:
            spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
            named = [span for span in spans if FILE.fullmatch(span) and not PLACEHOLDER.search(span)]
            missing += [span for span in named if Path(span).name not in WRITTEN and not is_there(span, notebook)]
    return missing


def stale_in_blocks(document: Path) -> list[str]:
    """Files of drawings and commands, imports of programs, options of programs."""
    missing = []
    for block in blocks(document):
        for file in re.findall(r"(?<![\w/.=:\\-])[\w./]*\w\.(?:py|js|sh|md|css|toml)\b(?!/)", block):
            if not PLACEHOLDER.search(file) and Path(file).name not in WRITTEN | OF_OTHERS and file not in OF_OTHERS:
                missing += [] if is_there(file, document) else [f"{file} is no file"]
        for module, imported in re.findall(r"^\s*from (tars_jax[\w.]*) import ([^#\n]+)", block, flags=re.MULTILINE):
            wanted = [f"{module}.{each.split()[0]}" for each in imported.strip("() ").split(",") if each.strip()]
            missing += [f"{each} cannot be imported" for each in wanted if not is_module(each)]
    for line in [*whole_lines(document), *quoted(document)]:
        for program, options in PROGRAM.findall(line):
            if PLACEHOLDER.search(program):
                continue
            source = program_source(program)
            said = "".join(source_of(module) for module in re.findall(r"from (tars_jax[\w.]*) import", source)) + source
            missing += [] if source else [f"{program} is no program"]
            for option in re.findall(r"(?<=\s)(--[a-z][\w-]+)", options):
                missing += [] if option in said or not source else [f"{program} has no {option}"]
    return list(dict.fromkeys(missing))


def stale_in_comments(file: Path) -> list[str]:
    """Files that comments and docstrings of a module name, by the end of a path."""
    text = file.read_text("utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    told = [token.string for token in tokens if token.type == tokenize.COMMENT]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    told += [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    named = re.findall(r"(?<![\w/.:*-])(?:\.\./)*([\w/]+\.(?:py|md|js|sh))\b(?![\w*/(])", "\n".join(told))
    ends = {f"/{name}" for name in named if not PLACEHOLDER.search(name)} - {f"/{name}" for name in IN_COMMENTS}
    written = {end for end in ends if Path(end).name in WRITTEN | OF_OTHERS}
    return sorted(end for end in ends - written if not any(path.endswith(end) for path in all_paths()))


@functools.cache
def all_paths() -> tuple[str, ...]:
    return tuple(f"/{path.relative_to(ROOT).as_posix()}" for path in files())


@functools.cache
def classes() -> frozenset[str]:
    """Of the package, with what a module gives a name with a capital letter, such as a type."""
    ours = [text for path, text in code().items() if path.suffix == ".py" and path.is_relative_to(ROOT / "tars_jax")]
    pairs = re.findall(r"^ *class (\w+)|^([A-Z]\w+)\b[^=\n]* = ", "\n".join(ours), flags=re.MULTILINE)
    return frozenset(name for pair in pairs for name in pair)


def unknown_classes(document: Path) -> list[str]:
    named = [re.fullmatch(r"([A-Z][a-z]+[A-Z]?\w*[a-zA-Z0-9])(?:\.\w.*|\(.*)?", span) for span in quoted(document)]
    return [f"{each[1]} is no class" for each in named if each and each[1] not in classes() | CLASSES_OF_OTHERS]


def unknown_extras(document: Path) -> list[str]:
    """Extras of the package, and environment variables of ours, that nothing has."""
    text = document.read_text("utf-8")
    named = re.findall(r"tars_jax\[([\w,]+)\]|[Tt]he extra `(\w+)`|\(extra `(?!tars_jax)(\w+)", text)
    extras = {extra for found in named for each in found for extra in each.split(",") if extra}
    variables = {
        each for each in re.findall(r"\bTARS_\w+", text) if not any(each in source for source in code().values())
    }
    return sorted(extras - extras_there()) + sorted(variables)


@functools.cache
def extras_there() -> frozenset[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return frozenset(project["optional-dependencies"])


def program_source(program: str) -> str:
    """Of a file, or of a module that can be run."""
    if program.endswith(".py"):
        return (ROOT / program).read_text("utf-8") if (ROOT / program).exists() else ""
    return source_of(program) or source_of(f"{program}.__main__")


def source_of(module: str) -> str:
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    return file.read_text("utf-8") if file.exists() else ""


def unknown_fields(document: Path) -> list[str]:
    """Of what is quoted like a config's field (`ppo.clip_high`, `config.sandbox.address`): those that no config has."""
    sections = {field.partition(".")[0] for field in config_fields() if "." in field}
    found = []
    for span in [*quoted(document), *re.findall(r"--config\.[\w.]+", document.read_text("utf-8"))]:
        named = re.fullmatch(r"(?:--)?(?:(config)\.)?([a-z_]+(?:\.[a-z_]+)*)(?:=.*)?", span.rstrip("."))
        if named is None or FILE.fullmatch(span) or named[2] in config_fields() | OF_OTHERS | ATTRIBUTES:
            continue
        if (named[1] or "." in named[2]) and (named[1] or named[2].partition(".")[0] in sections):
            found.append(f"{span} is no field")
    return found
