import json
import pathlib
import shlex

import pytest

from experiments.config import at_least, between, command_of, each, flatten, load_config, one_of, span
from tars_jax import InputError

CONFIG = """
from ml_collections import ConfigDict

def get_config():
    return ConfigDict({
        "seed": 0, "run": "", "grammar": "text", "resume": True,
        "ppo": {"clip_high": 0.28, "epochs": 2, "distance": (1, 3), "names": ("left", "right")},
        "value": {"width": 64},
    })
"""
RULES = {
    "ppo.clip_high": between(0, 1),
    "ppo.epochs": at_least(1),
    "grammar": one_of("text", "tool"),
    "ppo.distance": span(1),
    "ppo.names": each(one_of("left", "right", "up", "down")),
}


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "dummy.py").write_text(CONFIG)
    (tmp_path / "configs" / "dummy_long.py").write_text(CONFIG.replace('"epochs": 2', '"epochs": 9'))
    return tmp_path


def load(root: pathlib.Path, *flags: str) -> dict:
    return flatten(load_config("dummy", flags, root=root, rules=RULES))


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
            "config.ppo.clip_hihg is not a field of this config; did you mean config.ppo.clip_h",
        ),
        ("--config.epochs=3", "did you mean config.ppo.epochs?"),
        ("--config.zzzzz=3", "config.zzzzz is not a field of this config; it takes one of grammar, ppo.clip_high,"),
        ("--config.value=3", "config.value is a group of fields; it takes one of config.value.width."),
        ("--config.ppo.epochs=two", "config.ppo.epochs got 'two'; it takes a whole number, for example 2."),
        ("--config.ppo.epochs=2.5", "config.ppo.epochs got 2.5; it takes a whole number, for example 2."),
        ("--config.ppo.clip_high=inf", "config.ppo.clip_high got inf; it takes a number, for example 0.28."),
        ("--config.ppo.clip_high=nan", "config.ppo.clip_high got nan; it takes a number, for example 0.28."),
        ("--config.ppo.clip_high=-0.1", "config.ppo.clip_high got -0.1; it takes a value from 0 to 1."),
        ("--config.resume=maybe", "config.resume got 'maybe'; it takes true or false, for example True."),
        ("--config.grammar=xml", "config.grammar got 'xml'; it takes one of 'text', 'tool'."),
        (
            "--config.ppo.distance=1,b",
            "config.ppo.distance got ('1', 'b'); it takes a tuple, each element a whole number",
        ),
        ("--config.ppo.distance=5,2", "config.ppo.distance got (5, 2); it takes (least, most), each at least 1."),
        ("--config.ppo.distance=0,2", "config.ppo.distance got (0, 2); it takes (least, most)"),
        ("--config.ppo.distance=3", "config.ppo.distance got (3,); it takes (least, most)"),
        ("--config.ppo.names=()", "config.ppo.names got (); it takes one or more, each one of 'left'"),
        ("--seed=3", "'--seed=3' is no argument; it takes --config=FILE and --config.FIELD=VALUE."),
        ("--config.seed", "'--config.seed' is no argument"),
        ("--config=nothing", "it takes a .py config file, the config.json of a run, or one of dummy, dummy_long."),
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
    config = load_config("dummy", ["--config.ppo.distance=2,2"], root=root, rules=RULES)
    stored = root / "config.json"
    stored.write_text(json.dumps({"experiment": "dummy", "config": config.to_dict()}))
    again = load_config("dummy", [f"--config={stored}"], root=root, rules=RULES)
    assert again == config
    assert isinstance(again.ppo.distance, tuple)


def test_the_command_that_repeats_a_run_gives_its_config_in_another_clone(root: pathlib.Path) -> None:
    flags = ["--config.ppo.names=down,up", "--config.ppo.clip_high=0.3", "--config.resume=false"]
    config = load_config("dummy", [*flags, "--config.run=here"], root=root, rules=RULES)
    command = shlex.split(command_of("dummy", config, root))
    assert command[:2] == ["./launch/local.sh", "dummy"] and "--config.seed=0" in command and len(command) == 6
    assert load(root, *command[2:]) == {**flatten(config), "run": ""}


def test_the_config_is_locked(root: pathlib.Path) -> None:
    config = load_config("dummy", [], root=root, rules=RULES)
    with pytest.raises(AttributeError):
        config.new = 1
    with pytest.raises(TypeError):
        config.seed = "one"


@pytest.mark.parametrize(
    ("stored", "sentence"),
    [
        ("{", "is cut short or not JSON"),
        ("[]", "is no config of a run"),
        ('{"experiment": "other", "config": {}}', "is a config of the experiment 'other'"),
        ('{"experiment": "dummy", "config": {"sed": 1}}', "did you mean config.seed?"),
        ('{"experiment": "dummy", "config": {"seed": 1}}', "lacks the field grammar; it takes a text"),
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
    with pytest.raises(InputError, match="bad.py cannot be read as a config"):
        load(root, f"--config={path}")
