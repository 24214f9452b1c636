"""Tasks of ours in WindowsAgentArena's two forms, and a package in waa-cube's place with scorers of a few lines."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

USER = "C:\\Users\\Docker"
GETTERS = """
import os
def get_rule(env, config):
    return config["rules"]
def get_vm_file(env, config):
    data = env.controller.get_file(config["path"])
    if data is None:
        raise FileNotFoundError(config["path"])
    path = os.path.join(env.cache_dir, config["dest"])
    with open(path, "wb") as file:
        file.write(data)
    return path
def get_vm_folder_exists_in_documents(env, config):
    return env.controller.get_vm_folder_exists_in_path(config["folder_name"], env.controller.get_vm_documents_path())
def get_is_details_view(env, config):
    return env.controller.get_vm_file_explorer_is_details_view(config["folder_path"])
"""
METRICS = """
def exact_match(result, rules):
    return float(result == rules["expected"])
def says(path, rules):
    with open(path) as file:
        return float(file.read().strip() == rules["expected"])
def slow(path, rules):
    import time
    time.sleep(60)
"""


def task(evaluator: dict[str, Any], *config: dict[str, Any], domain: str = "file_explorer") -> dict[str, Any]:
    return {"domain": domain, "snapshot": "init_state", "config": list(config), "evaluator": evaluator,
            "related_apps": [domain], "test_sets": ["test_all"], "_type": "x"}  # fmt: skip


def step(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": parameters}


def folder_is(there: bool) -> dict[str, Any]:
    result = {"type": "vm_folder_exists_in_documents", "folder_name": "Plans"}
    return {"func": "exact_match", "result": result, "expected": {"type": "rule", "rules": {"expected": there}}}


def file_says(words: str, func: str = "says") -> dict[str, Any]:
    result = {"type": "vm_file", "path": f"{USER}\\Desktop\\note.txt", "dest": "note.txt"}
    return {"func": func, "result": result, "expected": {"type": "rule", "rules": {"expected": words}}}


TASKS = {
    "move": task(folder_is(True), step("create_folder", path=f"{USER}\\Desktop\\Plans"), step("sleep", seconds=0.1)),
    "note": task(file_says("plums"), step("create_file", path=f"{USER}\\Desktop\\old.txt", content="old")),
    "get": task(
        file_says("pears"),
        step("download", files=[{"url": "https://example.com/pears.txt", "path": f"{USER}\\Desktop\\pears.txt"}]),
    ),
    "never": task({"func": "infeasible"}),
    "slow": task(file_says("plums", "slow")),
    "view": task({"func": "exact_match", "result": {"type": "is_details_view", "folder_path": "x"},
                  "expected": {"type": "rule", "rules": {"expected": True}}}),
    "edge": task(file_says("x"), step("launch", command=["start", "msedge"])),
    "site": task({"func": "exact_match", "result": {"type": "page_info", "url": "https://example.com"},
                  "expected": {"type": "rule", "rules": {"expected": "x"}}}),
}  # fmt: skip


def metadata(tasks: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": name, "split": "test", "abstract_description": f"Do {name}.", "recommended_max_steps": None,
         "container_config": None, "_type": "y"}
        for name in tasks
    ]  # fmt: skip


def write_wheel(folder: Path, tasks: dict[str, Any] = TASKS, version: str = "0.1.2") -> Path:
    path = folder / f"waa_cube-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("waa_cube/task_metadata.json", json.dumps(metadata(tasks)))
        wheel.writestr("waa_cube/task_execution_info.json", json.dumps(tasks))
        for name, text in (("__init__", ""), ("getters/__init__", GETTERS), ("metrics/__init__", METRICS)):
            wheel.writestr(f"waa_cube/vm_backend/{name}.py", text)
    return path


def write_checkout(folder: Path, tasks: dict[str, Any] = TASKS) -> Path:
    """The public repository's form."""
    top = folder / "evaluation_examples_windows"
    for name, each in tasks.items():
        place = top / "examples" / each["domain"]
        place.mkdir(parents=True, exist_ok=True)
        record = {"id": name, "instruction": f"Do {name}.", **each}
        (place / f"{name}.json").write_text(json.dumps(record))
    (top / "test_all.json").write_text(json.dumps({"file_explorer": list(tasks)}))
    return folder
