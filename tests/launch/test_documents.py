"""What documents mention exists, rooms have five sections, and the catalogue of commands is whole."""

import dataclasses
import importlib
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command import experiment_names
from tars_jax.pipelines.config import flatten, load_config
from tars_jax.pipelines.recipes import REPORT
from tars_jax.training.config import PPOConfig
from tests.document_commands import commands, fields_of, flags_alone, taken_by_none, wrong_with
from tests.document_names import (
    DOCUMENTS,
    ROOMS,
    files,
    stale,
    stale_in_blocks,
    stale_in_comments,
    stale_in_notebook,
    unknown_classes,
    unknown_extras,
    unknown_fields,
)

CONFIGS = [file for file in sorted((ROOT / "configs").glob("*.py")) if file.stem != "__init__"]
SECTIONS = ["What flows through", "Files", "Promises", "How to use it", "Where next"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_a_document_mentions_exists(document: Path) -> None:
    assert stale(document) + stale_in_blocks(document) + unknown_fields(document) + unknown_classes(document) == []
    assert unknown_extras(document) == []


@pytest.mark.parametrize("document", [*DOCUMENTS, *CONFIGS], ids=lambda file: str(file.relative_to(ROOT)))
def test_what_a_document_says_to_type_is_taken(document: Path) -> None:
    """Commands with their values; and flags that are mentioned alone, by some experiment."""
    assert [complaint for command in commands(document) if (complaint := wrong_with(command))] == []
    assert [complaint for flag in flags_alone(document) if (complaint := taken_by_none(flag))] == []


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda file: file.stem)
def test_what_a_notebook_takes_and_names_exists(notebook: Path) -> None:
    assert stale_in_notebook(notebook) == []


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
    document.write_text(
        "`pip install 'tars_jax[none]'`, the extra `no_extra`, TARS_JAX_NOTHING and `TARS_JAX_CHROMIUM`"
    )
    assert unknown_extras(document) == ["no_extra", "none", "TARS_JAX_NOTHING"]


def test_classes_and_fields_that_do_not_exist_are_found(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text("`NoSuchNameAnywhereInIt` `Trajectory` `ppo.clip_hihg=1` and --config.no_such.")
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
    defaults = flatten(load_config("quickstart", [], root=ROOT, checked=False))
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
