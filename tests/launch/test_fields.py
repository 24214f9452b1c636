"""Every field of every experiment is described, and an impossible value of it is refused before anything begins."""

from __future__ import annotations

import functools
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command import experiment_names, main
from tars_jax.pipelines.command_help import flag_value, list_fields
from tars_jax.pipelines.config import EXAMPLES, Unset, flatten, load_config, read_python
from tars_jax.pipelines.schema import Described, Section, described
from tars_jax.sandbox.service.computers.spec import read_spec
from tars_jax.web.protocol import RequestError, RequestFields

EXPERIMENTS = experiment_names(ROOT)
WORDS = ("no such thing", "", "*x", "/dev/null")
NUMBERS = (-1, -2, 0, 10**12, 7)
LONE = "\ud800"  # half of a surrogate pair
TOO_MUCH = str(10**20)
WRONG: dict[type | None, tuple[str, ...]] = {
    bool: ("5",), int: (TOO_MUCH, "x"), float: (TOO_MUCH, "x"), str: (LONE,),
}  # fmt: skip
# Any number is one: the value model may expect anything of a step.
ANY_NUMBER = {"gate.value"}


@functools.cache
def config_of(name: str) -> tuple[dict[str, Any], dict[str, Described]]:
    config = read_python(ROOT / "configs" / f"{name}.py")
    assert isinstance(config, Section), f"configs/{name}.py must be made from dataclasses, by section()"
    return flatten(config), dict(described(config))


def impossible(value: Any, said: Described) -> Any:
    """A value of the same type that the field's rule does not accept."""
    rule = said.rule
    assert rule is not None
    value = EXAMPLES[value.kind] if isinstance(value, Unset) else value
    if isinstance(value, tuple):
        kind = said.element
        assert kind is not None
        one = WORDS if kind is str else [kind(number) for number in NUMBERS]
        tries: list[Any] = [(), *((each,) for each in one), *((each, each) for each in one)]
    elif isinstance(value, bool):
        tries = [True, False]
    else:
        tries = list(WORDS) if isinstance(value, str) else [type(value)(number) for number in NUMBERS]
    return next(each for each in tries if not rule.accepts(each))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_impossible_value_is_refused(name: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    values, fields = config_of(name)
    flags = {
        field: f"--config.{field}={flag_value(impossible(values[field], said))}"
        for field, said in fields.items()
        if said.rule is not None
    }
    for field, flag in flags.items():
        rule = fields[field].rule
        assert rule is not None
        with pytest.raises(InputError) as error:
            load_config(name, [flag], root=ROOT)
        assert str(error.value).startswith(f"config.{field} must be {rule.allowed}; got "), flag
    run = [f"--config.run={tmp_path / 'run'}"] if "run" in values else []
    for flag in list(flags.values())[:1]:
        assert main([name, *run, flag]) == 2
        assert flag.partition("=")[0][2:] + " must be " in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sandbox_service --config.host=", "config.host must be a name or an address; got ''"),
        ("sandbox_service --config.roots=/nope,", "config.roots must be folders that are there; got ('/nope',)"),
        (
            "sandbox_service --config.browser.width=8193",
            "config.browser.width must be a value from 1 to 8192; got 8193",
        ),
        ("sandbox_service --config.preview_domain=", "config.preview_domain must be a host name in lower case, "),
        (
            "sandbox_service --config.sessions.lease_seconds=99999",
            "config.sessions.lease_seconds must be at most sessions.max_lease_seconds, 86400; got 99999",
        ),
        ("sandbox_service --config.preview_domain=127.0.0.1", "config.preview_domain must be a host name in lower"),
        ("sandbox_service --config.preview_domain=-a", "config.preview_domain must be a host name in lower case, "),
        ("sandbox_service --config.kinds=browser,browser", "config.kinds must be one or more, each one of 'browser', "),
        (
            "computer_apis --config.processes=65537",
            "config.processes must be a whole number from 4 to 65536; got ",
        ),
        ("computer_apis --config.disk_mib=1048577", "config.disk_mib must be a whole number from 16 to 1048576; got "),
        (
            "sandbox_service --config.browser.browsers=4 --config.browser.max_browsers=2",
            "config.browser.max_browsers must be 0 or browser.browsers or more; got 2",
        ),
        (
            "train --config.environment=corridor --config.browser.browsers=4 --config.browser.max_browsers=2",
            "config.browser.max_browsers must be 0 or browser.browsers or more; got 2",
        ),
        ("judge_traces --config.parts.maze.size=0,160", "config.parts.maze.size must be (0, 0), or a width and a "),
        ("curate --config.datasets=x, --config.thoughts=model", "config.helper must be the address of a model with "),
        ("curate --config.datasets=x, --config.output=/etc/passwd", "config.output must be an empty folder, or a new "),
        ("store x --config.action=judge", "config.verdict must be 0 or 1 with config.action=judge; got -1"),
        ("store x --config.action=import", "config.datasets must be data sets, each with a comma, with config.action"),
        (
            "synthesize_questions --config.source=foldoc --config.names_seed=3",
            "config.names_seed must be auto, or -1 for real names, where config.source is not world; got 3",
        ),
        (
            "design_tasks --config.weights.frequency=0 --config.weights.benefit=0 --config.weights.transfer=0",
            "config.weights.frequency must be above 0 where the other weights are 0; got 0.0",
        ),
        (
            "serve --config.checkpoint=nano --config.engine.max_length=10 --config.engine.max_new_tokens=64",
            "config.engine.max_length must be above engine.max_new_tokens, ",
        ),
        ("serve --config.checkpoint=nano --config.host=0.0.0.0", "config.api_key_file must be given where others can"),
        ("serve --config.checkpoint=nano --config.mesh.data=7", "mesh.data * mesh.fsdp * mesh.expert * mesh.tensor"),
    ],
)
def test_what_is_refused_is_named_as_the_config_names_it(
    command: str, words: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *flags = command.split()
    assert main([name, *flags, f"--config.run={tmp_path / 'run'}"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "least", "most"), [("processes", 4, 65536), ("memory_mib", 16, 1048576), ("disk_mib", 16, 1048576)]
)
def test_a_computer_has_the_same_bounds_over_http(field: str, least: int, most: int) -> None:
    for value in (least - 1, most + 1):
        with pytest.raises(RequestError):
            read_spec(RequestFields({field: value}))
        with pytest.raises(InputError):
            load_config("computer_apis", [f"--config.{field}={value}"], root=ROOT)
    for value in (least, most):
        assert getattr(read_spec(RequestFields({field: value})).container, field) == value
        assert load_config("computer_apis", [f"--config.{field}={value}"], root=ROOT)[field] == value


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_value_of_another_type_or_size_is_refused(name: str) -> None:
    values, fields = config_of(name)
    for field, value in values.items():
        held = value.kind if isinstance(value, Unset) else type(value)
        kind = fields[field].element if held is tuple else held
        assert kind in EXAMPLES, f"config.{field} does not say what it holds"
        comma = "," if isinstance(value, tuple) else ""
        for text in WRONG[kind]:
            with pytest.raises(InputError) as error:
                load_config(name, [f"--config.{field}={text}{comma}"], root=ROOT)
            assert str(error.value).startswith(f"config.{field} must be "), text


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_field_is_described(name: str) -> None:
    values, fields = config_of(name)
    said = list_fields(name, [], ROOT)
    for field, value in values.items():
        assert field in fields and fields[field].about, f"config.{field} has no sentence"
        assert f"  --config.{field}={flag_value(value)}\n      " in said
        kind = value.kind if isinstance(value, Unset) else type(value)
        assert kind not in (int, float) or fields[field].rule or field in ANY_NUMBER, f"config.{field} has no rule"
    for section in {field.rpartition(".")[0] for field in values} - {""}:
        about = fields[section].about
        assert about and not re.match(r"\w+\(", about), f"config.{section} has no sentence"  # a dataclass makes one up


def test_configs_and_help_need_no_jax() -> None:
    program = (
        "import pathlib, sys\n"
        "from tars_jax.pipelines.command import experiment_names\n"
        "from tars_jax.pipelines.command_help import list_fields\n"
        "from tars_jax.pipelines.config import read_python\n"
        f"root = pathlib.Path({str(ROOT)!r})\n"
        "sys.path.insert(0, str(root))\n"
        "read_python(root / 'configs' / 'store.py')\n"
        "assert not {'pint', 'numpy'} & set(sys.modules), 'an answer of a moment waits for them'\n"
        "for name in experiment_names(root):\n"
        "    list_fields(name, [], root)\n"
        "    assert not {'jax', 'pint'} & set(sys.modules), name\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
