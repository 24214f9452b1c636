"""WebArena-Verified's configuration and tasks, and one sentence for each way in which they can be broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTasks
from tars_jax.tasks.benchmarks.webarena_verified import WEBARENA_VERIFIED, package_folder, start_urls
from tests.tasks.benchmarks.webarena_files import TASKS, WHEELS, write_config


def test_tasks_of_sites_that_the_configuration_names(tmp_path: Path) -> None:
    further = [{**WHEELS, "task_id": 7, "sites": ["gitlab", "shopping_admin"], "start_urls": ["__SHOPPING_ADMIN__/x"]}]
    found = WEBARENA_VERIFIED.read(write_config(tmp_path, "http://localhost:8023/", [*TASKS, *further]))
    assert [(each.id, each.group) for each in found[:2]] == [("0", "gitlab"), ("1", "gitlab")]
    assert found[0].instruction.startswith("How many wheels has the mill?\n\n") and "JSON" in found[0].instruction
    assert start_urls({"start_urls": ["__GITLAB__", "__GITLAB__/a?b=__X__"]}, found[0].record["places"]) == [
        "http://localhost:8023", "http://localhost:8023/a?b=__X__",
    ]  # fmt: skip
    assert [bool(each.left_out) for each in found] == [False, False, False, False, True]
    assert found[4].left_out == "environments says no address of shopping_admin"


def test_websites_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARS_JAX_WEBSITES", str(tmp_path / "none"))
    found = WEBARENA_VERIFIED.read(write_config(tmp_path, "website:trac?seed=3"))
    assert all("by ./launch/websites.sh trac" in each.left_out for each in found)
    with pytest.raises(InputError, match="that can be played here; got none; the first: trac 1.6 must be installed"):
        BenchmarkTasks(WEBARENA_VERIFIED, tmp_path / "config.json")


def test_tasks_of_the_package(tmp_path: Path) -> None:
    if not (package_folder() / "bin/python").exists():
        pytest.skip("needs ./launch/webarena_verified.sh")
    (file := tmp_path / "config.json").write_text(
        '{"environments": {"__REDDIT__": {"urls": ["http://localhost:9999"]}}}'
    )
    found = WEBARENA_VERIFIED.read(file)
    assert len(found) == 812 and sum(not each.left_out for each in found) == 106


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sites": ["gitlab", "facebook"]}, "field sites must be some of gitlab, map"),
        ({"task_id": "0"}, "field task_id must be a whole number"),
        ({"intent": None}, "field intent must be text"),
        ({"start_urls": ["http://localhost"]}, "field start_urls must be addresses that begin with the name of a site"),
        ({"start_urls": ["__REDDIT__"]}, "field start_urls must be addresses"),
        ({"eval": []}, "field eval must be one AgentResponseEvaluator or more"),
        ({"eval": [{"evaluator": "PageEvaluator"}]}, r"eval\[0\].evaluator must be one of AgentResponseEvaluator"),
        ({"start_state": {}}, "must have the fields of version 1.2.3; got 'start_state'"),
    ],
)
def test_a_task_that_is_none(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=rf"tasks.json: entry 0.*{said}"):
        WEBARENA_VERIFIED.read(write_config(tmp_path, "http://localhost:1", [{**WHEELS, **change}]))


def test_files_that_are_none(tmp_path: Path) -> None:
    whole = write_config(tmp_path, "http://localhost:1").read_text()
    for content, said in (
        (whole[:-9], "must be a whole JSON file"),
        (json.dumps(TASKS), "must be the benchmark's configuration file"),
        ("{}", "field environments must be"),
        (whole.replace("__GITLAB__", "__FACEBOOK__"), "environments must be of gitlab"),
        (whole.replace("http://localhost:1", "ftp://localhost"), "urls must be addresses of http or https"),
        (whole.replace("tasks.json", "none.json"), "none.json does not exist"),
        (whole.replace("http://localhost:1", "website:?seed=1"), "must be website:NAME"),
        (whole.replace("http://localhost:1", "website:nobody"), "nobody"),
    ):
        (file := tmp_path / "config.json").write_text(content)
        with pytest.raises(InputError) as error:
            BenchmarkTasks(WEBARENA_VERIFIED, file)
        assert said in str(error.value) and "\n" not in str(error.value)
    for tasks, said in (
        ({}, "must hold a list of tasks"),
        ([3], "entry 0 must be an object"),
        ([WHEELS, WHEELS], "'0' twice"),
    ):
        with pytest.raises(InputError, match=said):
            BenchmarkTasks(WEBARENA_VERIFIED, write_config(tmp_path, "http://localhost:1", tasks))
