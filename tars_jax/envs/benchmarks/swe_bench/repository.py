"""A repository as it stood at a commit: what came later is not in it, by whatever name.

Its objects are those that the commit reaches, packed anew; there is one branch, no remote, no log of references, and of
the tags those that the commit has behind it, without their texts, which may be of later.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from tars_jax.environment import EnvironmentFailure
from tars_jax.tasks.benchmarks.swe_bench import git

BRANCH = "main"


def at_commit(clone: Path, commit: str) -> bytes:
    """A tar archive of the working tree and its `.git`. Raises EnvironmentFailure where git refuses."""
    folder = Path(tempfile.mkdtemp(prefix="tars_jax-repository-"))
    try:
        work = folder / "testbed"
        work.mkdir()
        whole = _told(clone, "rev-parse", f"{commit}^{{commit}}").decode().strip()
        tags = [
            line.split(" ", 1)
            for line in _told(
                clone, "for-each-ref", "--merged", whole, "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)"
                "%(objectname)%(end) %(refname)", "refs/tags"
            ).decode().splitlines()
        ]  # fmt: skip
        pack = _told(clone, "pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset", stdin=whole.encode())
        _told(work, "init", "-q", "-b", BRANCH)
        _told(work, "config", "core.logAllRefUpdates", "false")
        _told(work, "index-pack", "--stdin", stdin=pack)
        for name, target in ((f"refs/heads/{BRANCH}", whole), *((ref, object) for object, ref in tags)):
            _told(work, "update-ref", name, target)
        _told(work, "reset", "-q", "--hard", BRANCH)
        _told(work, "config", "--unset", "core.logAllRefUpdates")
        for left in ("ORIG_HEAD", "FETCH_HEAD", "logs", "hooks"):
            path = work / ".git" / left
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.add(work, ".")
        return buffer.getvalue()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def only_git(archive: bytes) -> bytes:
    """The archive's `.git` folder alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(archive)) as whole, tarfile.open(fileobj=buffer, mode="w") as some:
        for member in whole:
            if member.name == "./.git" or member.name.startswith("./.git/"):
                some.addfile(member, whole.extractfile(member) if member.isfile() else None)
    return buffer.getvalue()


def _told(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    ran: subprocess.CompletedProcess[bytes] = git(folder, *arguments, stdin=stdin)
    if ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip()[-200:]
        raise EnvironmentFailure("environment", f"git {arguments[0]} refused {folder.name}: {said}")
    return ran.stdout
