"""Tasks of ours in OSWorld's format, and an environment with a package that stands in for desktop-env's scorers."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

# A getter and metric or two, as desktop-env's are called and written.
PACKAGE = {
    "desktop_env/__init__.py": "",
    "desktop_env/controllers/__init__.py": "",
    "desktop_env/controllers/python.py": """
        import requests

        class PythonController:
            def __init__(self, vm_ip, server_port):
                self.address = f"http://{vm_ip}:{server_port}"

            def get_file(self, path):
                try:
                    answer = requests.post(self.address + "/file", data={"file_path": path})
                except Exception:
                    return None
                return answer.content if answer.status_code == 200 else None
    """,
    "desktop_env/evaluators/__init__.py": "",
    "desktop_env/evaluators/getters.py": """
        import os, requests

        def get_vm_command_line(env, config):
            what = {"command": config["command"], "shell": config.get("shell", False)}
            answer = requests.post(f"http://{env.vm_ip}:{env.server_port}/execute", json=what)
            return answer.json()["output"] if answer.status_code == 200 else None

        def get_vm_file(env, config):
            data = env.controller.get_file(config["path"])
            if data is None:
                return None
            path = os.path.join(env.cache_dir, config["dest"])
            with open(path, "wb") as file:
                file.write(data)
            return path

        def get_cache_file(env, config):
            path = os.path.join(env.cache_dir, config["path"])
            assert os.path.exists(path)
            return path

        def get_cloud_file(env, config):
            path = os.path.join(env.cache_dir, config["dest"])
            if not os.path.exists(path):
                requests.get(config["path"])
            return path

        def get_rule(env, config):
            return config["rules"]
    """,
    "desktop_env/evaluators/metrics.py": """
        import os, signal, subprocess, tarfile, time

        def exact_match(result, rules):
            return 1.0 if result == rules["expected"] else 0.0

        def check_include_exclude(result, rules):
            return float(all(word in result for word in rules.get("include", [])))

        def compare_text_file(actual, expected, **options):
            if not actual:
                return 0.0
            with open(actual) as one, open(expected) as other:
                return float(one.read() == other.read())

        def check_list(result, rules):
            with open(result) as file:
                return float(all(word in file.read() for word in rules["expect"]))

        def literal_match(result, rules):
            time.sleep(600)

        def is_in_list(result, rules):
            os.kill(os.getpid(), signal.SIGKILL)

        def check_line_number(result, rules):
            return 0.5

        def compare_archive(result, expected, **options):
            with tarfile.open(result) as archive:
                archive.extractall(os.path.dirname(result))
            return 1.0

        def compare_csv(result, expected, **options):
            os.symlink("/etc", "away")
            return float(subprocess.run(["sh", "-c", f"echo x > {options['to']}"]).returncode != 0)
    """,
    "desktop_env-1.0.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: desktop-env\nVersion: 1.0.2\n",
}


def scorers(folder: Path, version: str = "1.0.2") -> Path:
    """An environment as launch/osworld.sh makes one, with the stand-in."""
    site = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for name, text in PACKAGE.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).replace("Version: 1.0.2", f"Version: {version}"))
    import requests

    (site / "others.pth").write_text(f"{Path(requests.__file__).parents[1]}\n")
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    return folder


def says(command: str, expected: str, func: str = "exact_match", **more: Any) -> dict[str, Any]:
    """An evaluator over what a shell command says."""
    return {
        "func": func,
        "result": {"type": "vm_command_line", "command": command, "shell": True},
        "expected": {"type": "rule", "rules": {"expected": expected}},
        **more,
    }


def task(
    name: str, instruction: str, evaluator: dict[str, Any], *config: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "id": name, "snapshot": "ours", "instruction": instruction, "source": "", "trajectory": "trajectories/",
        "related_apps": ["os"], "config": list(config), "evaluator": evaluator, **more,
    }  # fmt: skip


def step(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": parameters}


def rule(expected: Any) -> dict[str, Any]:
    return {"type": "rule", "rules": {"expected": expected}}


HAS_PLUMS = "test -d ~/Desktop/plums && echo yes || echo no"
URL = "https://example.org/files/recipe.txt?download=true"
TASKS: dict[str, list[dict[str, Any]]] = {
    "os": [
        task(
            "rename", "The folder figs on the desktop should be called plums.", says(HAS_PLUMS, "yes\n"),
            step("execute", command="echo password | sudo -S mkdir -p ~/Desktop/figs", shell=True),
            step("launch", command=["gnome-terminal"]), step("sleep", seconds=0.1),
            step("activate_window", window_name="Terminal"), step("activate_window", window_name="no such window"),
        ),
        task("fly", "Make this computer fly.", {"func": "infeasible"}),
        task(
            "copy", "Save the recipe as copy.txt on the desktop.",
            {
                "postconfig": [step("command", command=["ls", "/home/user/Desktop"], stdout="desktop.txt")],
                "func": ["compare_text_file", "check_list"], "conj": "and",
                "result": [
                    {"type": "vm_file", "path": "/home/user/Desktop/copy.txt", "dest": "copy.txt"},
                    {"type": "cache_file", "path": "desktop.txt"},
                ],
                "expected": [
                    {"type": "cloud_file", "path": URL, "dest": "gold.txt"},
                    {"type": "rule", "rules": {"expect": ["copy.txt"]}},
                ],
            },
            step("download", files=[{"url": URL, "path": "/home/user/Desktop/recipe.txt"}]),
        ),
    ],
    "chrome": [
        task(
            "either", "Say yes or hello.",
            {
                "func": ["check_line_number", "check_include_exclude"], "conj": "or",
                "result": [{"type": "vm_command_line", "command": ["cat", "/home/user/said.txt"]}] * 2,
                "expected": [rule(""), {"type": "rule", "rules": {"include": ["hello"]}}],
            },
            step("upload_file", files=[{"local_path": "said.txt", "path": "/home/user/said.txt"}]),
        ),
    ],
}  # fmt: skip


def write_tasks(folder: Path, tasks: dict[str, list[dict[str, Any]]] | None = None) -> Path:
    """A checkout with the tasks of each domain, and copies of the files that they fetch."""
    examples = folder / "evaluation_examples"
    listed = {}
    for domain, some in (tasks or TASKS).items():
        (examples / "examples" / domain).mkdir(parents=True, exist_ok=True)
        (examples / "examples" / domain / "said.txt").write_text("hello\n")
        listed[domain] = [each["id"] for each in some]
        for each in some:
            (examples / "examples" / domain / f"{each['id']}.json").write_text(json.dumps(each))
    (examples / "test_all.json").write_text(json.dumps(listed))
    for path in ("os/copy/recipe.txt",):
        (folder / "files" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / path).write_text("one plum\n")
    return folder
