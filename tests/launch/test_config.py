import importlib
import json
import pathlib
import shlex
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.pipelines.command_help import list_fields
from tars_jax.pipelines.config import command_of, flatten, load_config

CONFIG = """
import dataclasses
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, between, each, field, one_of, span

@dataclasses.dataclass(frozen=True)
class Dummy(RunFields):
    grammar: str = field("text", "of answers", one_of("text", "tool"))
    resume: bool = field(True, "or not")

@dataclasses.dataclass(frozen=True)
class PPO:
    \'\'\'What is clipped.\'\'\'

    clip_high: float = field(0.28, "how far", between(0, 1))
    epochs: int = field(2, "passes", at_least(1))
    distance: tuple[int, ...] = field((1, 3), "of exits", span(1))
    names: tuple[str, ...] = field(("left", "right"), "of ways", each(one_of("left", "right", "up", "down")))

@dataclasses.dataclass(frozen=True)
class Value:
    width: int = field(64, "of layers")

def get_config():
    return section(Dummy, ppo=section(PPO, epochs=2), value=section(Value))
"""


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "dummy.py").write_text(CONFIG)
    (tmp_path / "configs" / "dummy_long.py").write_text(CONFIG.replace("epochs=2", "epochs=9"))
    return tmp_path


def load(root: pathlib.Path, *flags: str) -> dict:
    return flatten(load_config("dummy", flags, root=root))


def test_overrides_are_read_by_the_type_of_the_field(root: pathlib.Path) -> None:
    values = load(
        root,
        "--config.seed=7",
        "--config.ppo.clip_high=1",
        "--config.resume=False",
        "--config.grammar=tool",
        "--config.run=runs/a=b",
        "--config.ppo.distance=(2, 5)",
        "--config.ppo.names=up,down",
    )
    assert values["seed"] == 7
    assert values["ppo.clip_high"] == 1.0 and isinstance(values["ppo.clip_high"], float)
    assert values["resume"] is False
    assert values["run"] == "runs/a=b"
    assert values["ppo.distance"] == (2, 5)
    assert values["ppo.names"] == ("up", "down")


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        (
            "--config.ppo.clip_hihg=0.2",
            "a field must be one of this config; got config.ppo.clip_hihg (did you mean config.ppo.clip_h",
        ),
        ("--config.epochs=3", "did you mean config.ppo.epochs?"),
        ("--config.zzzzz=3", "a field must be one of grammar, ppo.clip_high,"),
        ("--config.value=3", "a field must be one of config.value.width; got config.value, a group of fields"),
        ("--config.ppo.epochs=two", "config.ppo.epochs must be a whole number, for example 2; got 'two'"),
        ("--config.ppo.epochs=2.5", "config.ppo.epochs must be a whole number, for example 2; got 2.5"),
        ("--config.ppo.clip_high=inf", "config.ppo.clip_high must be a number, for example 0.28; got inf"),
        ("--config.ppo.clip_high=nan", "config.ppo.clip_high must be a number, for example 0.28; got nan"),
        ("--config.ppo.clip_high=-0.1", "config.ppo.clip_high must be a value from 0 to 1; got -0.1"),
        ("--config.resume=maybe", "config.resume must be true or false, for example True; got 'maybe'"),
        ("--config.grammar=xml", "config.grammar must be one of 'text', 'tool'; got 'xml'"),
        (
            "--config.ppo.distance=1,b",
            "config.ppo.distance must be a tuple, each element a whole number",
        ),
        ("--config.ppo.distance=5,2", "config.ppo.distance must be (least, most), each at least 1; got (5, 2)"),
        ("--config.ppo.distance=0,2", "config.ppo.distance must be (least, most), each at least 1; got (0, 2)"),
        ("--config.ppo.distance=3", "config.ppo.distance must be (least, most), each at least 1; got (3,)"),
        ("--config.ppo.names=()", "config.ppo.names must be one or more, each one of 'left'"),
        ("--seed=3", "an argument must be --config=FILE or --config.FIELD=VALUE; got '--seed=3'"),
        ("--config.seed", "got '--config.seed'"),
        (
            "--config=nothing",
            "--config must be a .py config file, the config.json of a run, or one of dummy, dummy_long; got ",
        ),
    ],
)
def test_what_cannot_be_used_is_named(root: pathlib.Path, flag: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        load(root, flag)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_config_file_by_path_and_by_name(root: pathlib.Path) -> None:
    assert load(root, "--config=dummy_long")["ppo.epochs"] == 9
    assert load(root, f"--config={root / 'configs' / 'dummy_long.py'}", "--config.ppo.epochs=4")["ppo.epochs"] == 4


def test_the_config_of_a_run_gives_the_same_config(root: pathlib.Path) -> None:
    config = load_config("dummy", ["--config.ppo.distance=2,2"], root=root)
    stored = root / "config.json"
    stored.write_text(json.dumps({"experiment": "dummy", "config": config.to_dict()}))
    again = load_config("dummy", [f"--config={stored}"], root=root)
    assert again == config
    assert isinstance(again.ppo.distance, tuple)


def test_the_command_that_repeats_a_run_gives_its_config_in_another_clone(root: pathlib.Path) -> None:
    flags = ["--config.ppo.names=down,up", "--config.ppo.clip_high=0.3", "--config.resume=false"]
    config = load_config("dummy", [*flags, "--config.run=here"], root=root)
    command = shlex.split(command_of("dummy", config, root))
    assert command[:2] == ["./launch/local.sh", "dummy"] and "--config.seed=0" in command and len(command) == 6
    assert load(root, *command[2:]) == {**flatten(config), "run": ""}


def test_the_config_is_locked(root: pathlib.Path) -> None:
    config = load_config("dummy", [], root=root)
    with pytest.raises(AttributeError):
        config.new = 1
    with pytest.raises(TypeError):
        config.seed = "one"


@pytest.mark.parametrize(
    ("stored", "sentence"),
    [
        ("{", "must be a whole JSON file"),
        ("[]", "must be a run's config"),
        (
            '{"experiment": "dummy", "config": {"seed": 5, "seed": 6}}',
            "must be a whole JSON file; got 'seed' stands in",
        ),
        ('{"experiment": "dummy", "version": 99, "config": {}}', "must have the fields experiment and config alone"),
        ('{"a": ' + "[" * 100_000, "must be a whole JSON file; got lists or objects that nest too deep"),
        ('{"experiment": "other", "config": {}}', "must be a config of the experiment 'dummy'; got one of 'other'"),
        ('{"experiment": "dummy", "config": {"sed": 1}}', "did you mean config.seed?"),
        ('{"experiment": "dummy", "config": {"seed": 1}}', "field grammar must be a text"),
    ],
)
def test_a_damaged_config_file_is_named(root: pathlib.Path, stored: str, sentence: str) -> None:
    path = root / "config.json"
    path.write_text(stored)
    with pytest.raises(InputError) as error:
        load(root, f"--config={path}")
    assert sentence in str(error.value) and str(path) in str(error.value)


def test_a_python_file_without_get_config_is_named(root: pathlib.Path) -> None:
    path = root / "bad.py"
    path.write_text("x = 1\n")
    with pytest.raises(InputError, match="bad.py must be a Python file with a function get_config"):
        load(root, f"--config={path}")


def test_help_says_what_the_dataclass_says(root: pathlib.Path) -> None:
    said = list_fields("dummy", ["--config.ppo.epochs=0"], root)
    assert "\n  What is clipped.\n  --config.ppo.clip_high=0.28\n      how far; must be a value from 0 to 1\n" in said
    assert "  --config.ppo.epochs=0\n      passes; must be a value of at least 1\n" in said
    assert "  --config.resume=True\n      or not; must be true or false\n" in said


@pytest.mark.parametrize("name", ["flywheel", "flywheel_text", "flywheel_websites"])
def test_a_flywheel_leaves_nothing_open(name: str) -> None:
    """It begins with `train`'s config, whose open fields `train` alone fills in."""

    def left_open(section: Any, prefix: str = "") -> list[str]:
        inner = {key: section[key] for key in section}
        return [
            each
            for key, value in inner.items()
            for each in (
                left_open(value, f"{prefix}{key}.") if hasattr(value, "items") else [prefix + key] * (value is None)
            )
        ]

    assert left_open(importlib.import_module(f"configs.{name}").get_config()) == []
