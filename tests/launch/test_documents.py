"""What documents mention exists, rooms have five sections, and the catalogue of commands is whole."""

import ast
import dataclasses
import functools
import importlib
import io
import re
import shlex
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command import HELP, experiment_names
from tars_jax.pipelines.config import flatten, load_config
from tars_jax.pipelines.recipes import REPORT
from tars_jax.training.config import PPOConfig

FOLDERS = ("tars_jax", "experiments", "configs", "launch", "tests", "notebooks", "docs", ".ci")
CODE = (".py", ".js", ".sh", ".toml", ".json", ".html", ".css", ".ipynb", ".yaml", ".lock")
DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tests/benchmarks/README.md")),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tars_jax").rglob("README.md"),
    ]
)
CONFIGS = [file for file in sorted((ROOT / "configs").glob("*.py")) if file.stem != "__init__"]
ROOMS = [file for file in DOCUMENTS if file.is_relative_to(ROOT / "tars_jax")]
SECTIONS = ["What flows through", "Files", "Promises", "How to use it", "Where next"]
# What runs, games and sandboxes write, and what others have: not files of this repository.
WRITTEN = {
    "game.json", "index.html", "guard.js", "hints.js",  # of a game that was synthesized
    "results.jsonl", "summary.json", "infer.jsonl",  # of benchmarks
    "test_all.json", "test_small.json", "result.txt", "traj.jsonl", "show_result.py",  # of OSWorld's own
    "result.json", "report.html", "metrics.jsonl", "timeline.json", "checkpoint.json", "messages.jsonl", "output.log",
    "recording.json", "events.jsonl", "preferences.jsonl", "report.md", "plan.md",
    "trajectories.parquet", "stages.json", "environment.json", "levels.txt", "arrivals.txt", "journal.jsonl",
}  # fmt: skip
WRITTEN_FOLDERS = {
    "kit",
    "tensorboard",
    "images",
    "runs",
    "trajectories",
    "policy",
    "checkpoints",
    "node_modules",
    "frames",
    "voice",
    "accessibility",
}
# Names that others have, or that a run makes.
OF_OTHERS = {
    "IncrementalCheckpointer", "process_episodes", "browse_comp_test_set", "results_2", "level2_4_9", "stale_N",
    "_meta", "tmux", "cost_analysis", "aw.toml", "./revert.sh", "task.toml", "mine.py", "game.canvas",
}  # fmt: skip
FILE = re.compile(r"\.?[\w*./-]+\.(py|js|css|json|jsonl|sh|md|ipynb|html|svg|png|jpg|txt|lock|toml|yaml|parquet)")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(.*\))?")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\bX\b|[<>…]|\.\.\.")
OF_EXPERIMENTS = ("local.sh", "gpu.sh", "processes.sh", "tpu.sh", "slurm.sh", "gke.sh", "pod.sh")
STANDS_FOR = re.compile(r"\b[A-Z]{2,}[A-Z_0-9]*\b|\bX\b|^runs/|,runs/|^[A-Z]/|…|\.\.\.")  # a value for another
PROGRAM = re.compile(r"python3? (?:-m )?((?:tars_jax(?:\.\w+)+)|(?:tests/[\w/]+\.py))([^`|&;#]*)")
IN_COMMENTS = {  # of others, of users, or what a run writes
    "Node.js", "xterm.js", "elsewhere/mine.py", "my_judge.py", "my_player.py", "table.md", "suites.md", "agreement.md",
    "gpu_bench.md", "android_world/env/json_action.py", "actuation.py", "server/android_server.py",
    "gamingagent/envs/gym_env_adapter.py", "gamingagent/envs/retro_02_ace_attorney/aceAttorneyEnv.py",
    "run_acc_calibration_error.py",
}  # fmt: skip
CLASSES_OF_OTHERS = {
    "Search", "LinkReader", "Forwarded", "PythonController", "SetupController", "CaptureSession", "RemoteRuntime",
    "Math", "IncrementalCheckpointer", "SettingsOpenVerify",
}  # fmt: skip
ATTRIBUTES = {"task.verification", "agent.finish", "execution.capacity"}  # they look like fields of configs
COMMAND = re.compile(r"(?:\./)?launch/(\w+\.sh)\b(.*)|\btars-jax (.*)")


@functools.cache
def files() -> tuple[Path, ...]:
    """The repository's own, without what runs and caches have left in it."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    return (*found, *ROOT.glob("*.*"), *(ROOT / each for each in (".venv", ".cache")))


@functools.cache
def code() -> dict[Path, str]:
    sources = (path for path in files() if path.suffix in CODE and path.is_file() and path != Path(__file__))
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


@functools.cache
def config_fields() -> frozenset[str]:
    """Of all experiments, with their sections: a.b.c, a.b, a."""
    fields = [field.split(".") for name in experiment_names(ROOT) for field in fields_of(name)]
    return frozenset(".".join(parts[:size]) for parts in fields for size in range(1, len(parts) + 1))


def quoted(file: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", file.read_text("utf-8"), flags=re.DOTALL)
    for span in re.findall(r"`([^`]+)`", text):
        yield " ".join(span.split())


def blocks(file: Path) -> Iterator[str]:
    """Programs, commands and drawings: fenced, or indented."""
    text = file.read_text("utf-8")
    yield from re.findall(r"```.*?\n(.*?)```", text, flags=re.DOTALL)
    yield from re.findall(r"(?:^    .*\n?)+", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)


def commands(file: Path) -> Iterator[str]:
    """Of blocks, of indented lines and of what is quoted; what follows a # is about them."""
    for line in [*whole_lines(file), *quoted(file)]:
        if (found := COMMAND.search(re.split(r"`|\s#\s", line.strip().lstrip("`"))[0])) and "http:" not in found[0][:8]:
            yield found.group(0).rstrip(" ,.;:)")


def whole_lines(file: Path) -> Iterator[str]:
    """Of a document, or of what a config says of itself; a command goes on where flags follow, or after a \\."""
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    yield from re.sub(r"\\?\n +(?=\"?--config)", " ", text).splitlines()


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


def wrong_with(command: str) -> str:
    """Of a script or an experiment that is not there, or what the experiment says of its flags; empty where all is."""
    found = COMMAND.fullmatch(command)
    assert found is not None, command
    script, after, installed = found.groups()
    if script and not (ROOT / "launch" / script).exists():
        return f"{command}: no launch/{script}"
    arguments = words_of(after or installed or "")
    if script in ("processes.sh", "tpu.sh"):
        arguments = [each for each in arguments if not each.isdigit() and not each.isupper()]
    if not arguments or (script and script not in OF_EXPERIMENTS):
        return ""
    name, flags = arguments[0], arguments[1:]
    if PLACEHOLDER.search(name) or name.startswith("-"):
        return ""
    if name not in experiment_names(ROOT):
        return f"{command}: no such experiment"
    refusal = refused(name, [flag for flag in flags if flag not in HELP])
    return f"{command}: {refusal}" if refusal else ""


def words_of(line: str) -> list[str]:
    """As a shell has them, up to a pipe; in brackets stands what may be left out."""
    try:
        words = shlex.split(re.split(r" [|&] ?|&&", line)[0])
    except ValueError:  # an apostrophe of the sentence
        words = line.split()
    return [word.strip("[]") for word in words]


def refused(name: str, flags: Sequence[str]) -> str:
    """What an experiment says of flags; of a value that stands for another, whether there is such a field."""
    module = importlib.import_module(f"experiments.{name}")
    if flags and not flags[0].startswith("-"):
        if not hasattr(module, "POSITIONAL"):
            return f"no value without a flag; got {flags[0]}"
        values = [flag for flag in flags if not flag.startswith("-")]
        named = zip(module.POSITIONAL, values, strict=False)
        flags = [*(f"--config.{field}={value}" for field, value in named), *flags[len(values) :]]
    more = "..." in flags  # that what is not said here may give
    flags = [flag for flag in flags if flag != "..."]
    split = [flag.removeprefix("--config.").partition("=") for flag in flags]
    fields = {field for field, _, value in split if STANDS_FOR.search(value)}
    known = fields_of(name)
    if unknown := [field for field in fields if field not in known and not field.startswith("--config")]:
        return f"no field {', '.join(unknown)}"
    given = [flag for flag, (_, _, value) in zip(flags, split, strict=True) if not STANDS_FOR.search(value)]
    rules = {field: rule for field, rule in getattr(module, "RULES", {}).items() if field not in fields}
    try:
        config = load_config(name, given, root=ROOT, rules={} if more or "--config" in fields else rules)
        if not fields and hasattr(module, "check"):
            module.check(config)
    except InputError as error:
        return str(error)
    return ""


@functools.cache
def fields_of(name: str) -> frozenset[str]:
    return frozenset(flatten(load_config(name, [], root=ROOT, rules={})))


def flags_alone(document: Path) -> Iterator[str]:
    """Every flag that is mentioned, beside a command or not."""
    text = " ".join(" ".join(whole_lines(document)).split())
    for field, quotes, value in re.findall(r"--config\.([\w.]+)=(?:'([^']*)'|([^\s'`\"\]]*))", text):
        value = quotes or value.rstrip(",.;:")
        if not PLACEHOLDER.search(field):
            yield f"--config.{field}={value.rstrip(')') if '(' not in value else value}"


def taken_by_none(flag: str) -> str:
    """Why every experiment refuses a flag; empty where one takes it."""
    field = flag.removeprefix("--config.").partition("=")[0]
    with_it = [name for name in experiment_names(ROOT) if field in fields_of(name)]
    if not with_it:
        return f"{flag}: no field {field}"
    said = [refused_alone(name, flag) for name in with_it]
    return "" if "" in said else f"{flag}: {said[0]}"


def refused_alone(name: str, flag: str) -> str:
    """Whether an experiment takes the flag, given what else it needs."""
    field, _, value = flag.removeprefix("--config.").partition("=")
    if STANDS_FOR.search(value):
        return ""
    rules = getattr(importlib.import_module(f"experiments.{name}"), "RULES", {})
    try:
        load_config(name, [flag], root=ROOT, rules={field: rules[field]} if field in rules else {})
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_a_document_mentions_exists(document: Path) -> None:
    assert stale(document) + stale_in_blocks(document) + unknown_fields(document) + unknown_classes(document) == []


@pytest.mark.parametrize("document", [*DOCUMENTS, *CONFIGS], ids=lambda file: str(file.relative_to(ROOT)))
def test_what_a_document_says_to_type_is_taken(document: Path) -> None:
    """Commands with their values; and flags that are mentioned alone, by some experiment."""
    assert [complaint for command in commands(document) if (complaint := wrong_with(command))] == []
    assert [complaint for flag in flags_alone(document) if (complaint := taken_by_none(flag))] == []


@pytest.mark.parametrize("folder", ["tars_jax", "experiments", "configs"])
def test_files_that_comments_name_are_there(folder: str) -> None:
    sources = [path for path in files() if path.suffix == ".py" and path.is_relative_to(ROOT / folder)]
    assert {str(path.relative_to(ROOT)): gone for path in sources if (gone := stale_in_comments(path))} == {}


def test_what_does_not_exist_is_found(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text(
        "`gone.py` `nowhere/` `tars_jax.rl.forgotten` `NoSuchNameAnywhereInIt`, and `pyproject.toml`;\n"
        "`ppo.clip_hihg=1` and --config.no_such.\n\n"
        "    from tars_jax.files import write_atomic, write_nothing\n    drawn -> missing.py\n\n"
        "`python -m tars_jax.envs --wrong`, `python tests/none.py`\n"
    )
    assert [each.split(" ")[0] for each in stale(document)] == [
        "gone.py", "nowhere/", "tars_jax.rl.forgotten", "NoSuchNameAnywhereInIt",
    ]  # fmt: skip
    assert stale_in_blocks(document) == [
        "missing.py is no file", "tars_jax.files.write_nothing cannot be imported", "tars_jax.envs has no --wrong",
        "tests/none.py is no program",
    ]  # fmt: skip
    assert unknown_classes(document) == ["NoSuchNameAnywhereInIt is no class"]
    assert unknown_fields(document) == ["ppo.clip_hihg=1 is no field", "--config.no_such. is no field"]


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("./launch/gone.sh merge", "no launch/gone.sh"),
        ("./launch/local.sh nothing", "no such experiment"),
        ("tars-jax serve --config.checkpoint=RUN/policy --config.no_field=NAME", "no field no_field"),
        ("tars-jax serve --config.checkpoint=RUN/policy --config.port=many", "config.port must be a whole number, "),
        ("tars-jax serve", "config.checkpoint must be a folder of exported weights: "),
        ("tars-jax serve RUN/policy", "no value without a flag; got RUN/policy"),
        (
            "./launch/local.sh quickstart --config.ppo.clip_high=-1",
            "config.ppo.clip_high must be a value above 0; got -1",
        ),
        ("tars-jax quickstart --config.ppo.group_start=fork", "ppo.group_size must be at least 2 with "),
        ("./launch/local.sh quickstart --config=no_such_config", "--config must be a .py config file, "),
        (
            "./launch/local.sh quickstart --config=RUN/config.json --config.run=RUN --config.seed=one",
            "config.seed must",
        ),
        ("./launch/local.sh store runs/fly/store --config.action=list --config.where='cycle>=2 and set=sft'", ""),
        ("tars-jax merge --config.checkpoints=A/policy,B/policy --config.weights=.5,.6", "config.weights must be "),
    ],
)
def test_what_an_experiment_refuses_is_found(command: str, complaint: str) -> None:
    said = wrong_with(command)
    assert said.startswith(f"{command}: {complaint}") if complaint else said == ""


def test_a_flag_that_no_experiment_takes_is_found() -> None:
    assert taken_by_none("--config.no_field=1") == "--config.no_field=1: no field no_field"
    assert "must be one of" in taken_by_none("--config.demonstrations.verdict=perhaps")
    assert taken_by_none("--config.demonstrations.verdict=failed") == ""


@pytest.mark.parametrize("document", ROOMS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_room_has_five_sections(document: Path) -> None:
    assert re.findall(r"^## (.*)", document.read_text("utf-8"), flags=re.MULTILINE) == SECTIONS


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 700


def test_the_catalogue_has_every_command_and_no_other() -> None:
    text = (ROOT / "docs" / "commands.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert sorted(listed) == experiment_names(ROOT)


@pytest.mark.parametrize("page", ["commands.md", "rollout.md"])
def test_lists_of_what_runs_on_many_machines_are_whole(page: str) -> None:
    text = " ".join((ROOT / "docs" / page).read_text("utf-8").split())
    names, what = re.findall(r"((?:`\w+`(?:, | and )?)+) take (several hosts|`fleet`)", text)[0]
    many = {
        "several hosts": lambda name: (
            getattr(importlib.import_module(f"experiments.{name}"), "PROCESSES", "") == "many"
        ),
        "`fleet`": lambda name: "fleet.hosts" in fields_of(name),
    }
    assert sorted(re.findall(r"\w+", names.replace(" and ", " "))) == list(filter(many[what], experiment_names(ROOT)))


def says(value: object, said: str) -> bool:
    """As docs/rl.md writes values: on, off, .2, 0: off."""
    if isinstance(value, bool):
        return said == ("on" if value else "off")
    if isinstance(value, str):
        return said == value
    return (float(said) if said[0] in ".0123456789" else 0.0 * (said == "off")) == value


def test_switches_have_the_values_that_their_page_says() -> None:
    switches, _, rest = (ROOT / "docs" / "rl.md").read_text("utf-8").partition("## Recipes")
    defaults = flatten(load_config("quickstart", [], root=ROOT, rules={}))
    told = [pair for pair in re.findall(r"`([\w.]+)` \(([^)]*)\)", switches) if "/" not in pair[1]]
    named = {full_name(name, defaults): said.removesuffix(": off") for name, said in told}
    assert {field for field, said in named.items() if not says(defaults[field], said)} == set()
    kept = {"epochs", "minibatch_rows"}  # how a batch is gone through, by the learner's arithmetic the same
    assert {f"ppo.{field.name}" for field in dataclasses.fields(PPOConfig)} - {f"ppo.{name}" for name in kept} <= set(
        named
    )

    rows = re.findall(r"^\| ([^|]*`[^|]*) \| ([^|]*) \|", rest.partition("\n## ")[0], flags=re.MULTILINE)
    in_recipe: dict[str, str] = {}
    for fields, said in rows:
        names, values = re.findall(r"`([\w.]+)`", fields), said.split(", ")
        in_recipe |= dict(zip(names, values * len(names) if len(values) == 1 else values, strict=False))
    recipe = {full_name(name, REPORT): said for name, said in in_recipe.items()}
    assert set(REPORT) - set(recipe) <= {"ppo.normalize_over"}
    assert {field for field, said in recipe.items() if not says(REPORT[field], said)} == set()


def full_name(name: str, fields: Mapping[str, object]) -> str:
    return next(each for each in (name, f"ppo.{name}", f"model.{name}", f"reward.{name}") if each in fields)


def test_every_room_has_a_page() -> None:
    rooms = {path.parent for path in (ROOT / "tars_jax").glob("*/__init__.py")}
    assert {room.name for room in rooms if not (room / "README.md").exists()} == set()
