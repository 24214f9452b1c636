"""A small repository of ours with an issue, its later history, and the data file of SWE-bench that tells of it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

REPO = "our/words"
BROKEN = '''"""Words."""


def longest(words):
    best = ""
    for word in words:
        if len(word) > len(best):
            best = word
    return word
'''
MENDED = BROKEN.replace("return word", "return best")
TESTS = """from words import longest


def test_one():
    assert longest(["plum"]) == "plum"
"""
NEW_TESTS = """

def test_longest():
    assert longest(["cherry", "fig"]) == "cherry"
"""
DOCKERFILE = "FROM debian\nCOPY site /usr/lib/python3/dist-packages/\n"
PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")


def git(folder: Path, *arguments: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    environment = {**os.environ, **who, **dates, "GIT_CONFIG_GLOBAL": "/dev/null"}
    told = subprocess.run(["git", "-C", str(folder), *arguments], env=environment, capture_output=True, check=True)
    return told.stdout.decode()


def commit(folder: Path, message: str, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD").strip()


def instances(parent: Path, **changes: Any) -> Path:
    """The data file, its clone and what its tests need; the commits behind the issue's say how it was solved."""
    folder = parent / "issues"
    clone = folder / "repos" / REPO.replace("/", "__")
    clone.mkdir(parents=True)
    git(clone, "init", "-q", "-b", "main")
    commit(clone, "begin", {"words.py": "", "README": "words\n"})
    git(clone, "tag", "v1")
    base = commit(clone, "longest", {"words.py": BROKEN, "tests/test_words.py": TESTS, "conftest.py": ""})
    git(clone, "checkout", "-q", "-b", "release")
    solved = commit(clone, "the secret solution", {"words.py": MENDED, "tests/test_words.py": TESTS + NEW_TESTS})
    git(clone, "tag", "-a", "v2", "-m", "later")
    patches = {
        "patch": git(clone, "diff", base, solved, "--", "words.py"),
        "test_patch": git(clone, "diff", base, solved, "--", "tests"),
    }
    git(clone, "checkout", "-q", "main")
    record = {
        "instance_id": "our__words-1", "repo": REPO, "base_commit": base, "version": "1", **patches,
        "problem_statement": "longest() gives the last word.\n", "hints_text": "return best",
        "FAIL_TO_PASS": json.dumps(["tests/test_words.py::test_longest"]),
        "PASS_TO_PASS": ["tests/test_words.py::test_one"], **changes,
    }  # fmt: skip
    (folder / "instances.jsonl").write_text(json.dumps(record) + "\n")
    site = folder / "environments" / REPO.replace("/", "__") / "site"
    for name in PACKAGES:
        found = importlib.util.find_spec(name)
        assert found is not None and found.origin is not None
        package = Path(found.origin).parent
        for folder_of in (package, *package.parent.glob(f"{name}-*.dist-info")):
            shutil.copytree(folder_of, site / folder_of.name, ignore=shutil.ignore_patterns("__pycache__"))
    (site.parent / "Dockerfile").write_text(DOCKERFILE)
    return folder
