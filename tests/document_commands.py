"""Commands and flags of documents, as the experiments take them."""

import ast
import functools
import importlib
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command import HELP, experiment_names
from tars_jax.pipelines.config import check, flatten, load_config, read_python
from tars_jax.pipelines.schema import Described, described

PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\bX\b|[<>…]|\.\.\.")
OF_EXPERIMENTS = ("local.sh", "gpu.sh", "processes.sh", "tpu.sh", "slurm.sh", "gke.sh", "pod.sh")
STANDS_FOR = re.compile(r"\b[A-Z]{2,}[A-Z_0-9]*\b|\bX\b|^runs/|,runs/|^[A-Z]/|…|\.\.\.")  # a value for another
COMMAND = re.compile(r"(?:\./)?launch/(\w+\.sh)\b(.*)|\btars-jax (.*)")


def quoted(file: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", file.read_text("utf-8"), flags=re.DOTALL)
    for span in re.findall(r"`([^`]+)`", text):
        yield " ".join(span.split())


def blocks(file: Path) -> Iterator[str]:
    """Programs, commands and drawings: fenced, or indented."""
    text = file.read_text("utf-8")
    yield from re.findall(r"```.*?\n(.*?)```", text, flags=re.DOTALL)
    yield from re.findall(r"(?:^    .*\n?)+", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)


def whole_lines(file: Path) -> Iterator[str]:
    """Of a document, or of what a config says of itself; a command goes on where flags follow, or after a \\."""
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    yield from re.sub(r"\\?\n +(?=\"?--config)", " ", text).splitlines()


def commands(file: Path) -> Iterator[str]:
    """Of blocks, of indented lines and of what is quoted; what follows a # is about them."""
    for line in [*whole_lines(file), *quoted(file)]:
        if (found := COMMAND.search(re.split(r"`|\s#\s", line.strip().lstrip("`"))[0])) and "http:" not in found[0][:8]:
            yield found.group(0).rstrip(" ,.;:)")


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
    open_ended = more or "--config" in fields
    rules = {} if open_ended else {field: said for field, said in rules_of(name).items() if field not in fields}
    try:
        config = load_config(name, given, root=ROOT, checked=False)
        check(flatten(config), rules)
        if not fields and hasattr(module, "check"):
            module.check(config)
    except InputError as error:
        return str(error)
    return ""


@functools.cache
def fields_of(name: str) -> frozenset[str]:
    return frozenset(flatten(load_config(name, [], root=ROOT, checked=False)))


@functools.cache
def rules_of(name: str) -> dict[str, Described]:
    return dict(described(read_python(ROOT / "configs" / f"{name}.py")))


@functools.cache
def config_fields() -> frozenset[str]:
    """Of all experiments, with their sections: a.b.c, a.b, a."""
    fields = [field.split(".") for name in experiment_names(ROOT) for field in fields_of(name)]
    return frozenset(".".join(parts[:size]) for parts in fields for size in range(1, len(parts) + 1))


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
    try:
        config = load_config(name, [flag], root=ROOT, checked=False)
        check(flatten(config), {field: rules_of(name)[field]})
    except InputError as error:
        return str(error)
    return ""
