"""What a machine is refused for: one sentence, before anything is installed or written."""

import importlib.util
import os
import pathlib
import platform
import shutil
import stat
import subprocess
import sys
from types import ModuleType

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = (
    *("awk", "bash", "cat", "cut", "df", "dirname", "flock", "grep", "id", "mkdir", "readlink", "realpath", "sed"),
    *("sha256sum", "uname", "env"),
)


class Machine:
    """A checkout that nobody has set up, and programs that it finds; those of the machine but python3 at first."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.checkout = folder / "où a clone may lie"
        shutil.copytree(ROOT / "launch", self.checkout / "launch")
        shutil.copy(ROOT / "requirements.lock", self.checkout)
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in PROGRAMS:
            (self.programs / name).symlink_to(shutil.which(name) or pytest.fail(f"there is no {name}"))

    def does(self, name: str, script: str) -> None:
        program = self.programs / name
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    def says(self, name: str, words: str, status: int = 0) -> None:
        self.does(name, f"cat <<'END'\n{words}\nEND\nexit {status}")

    def has_python(self) -> None:
        (self.programs / "python3").symlink_to(sys.executable)

    def refusal(self, **variables: str) -> str:
        before = self._files()
        done = subprocess.run(
            [self.checkout / "launch" / "local.sh", "quickstart"],
            env={"PATH": str(self.programs), "HOME": str(self.checkout.parent), "LC_ALL": "C", **variables},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert self._files() == before
        return done.stderr.removesuffix("\n")

    def _files(self) -> set[pathlib.Path]:
        return set(self.checkout.parent.rglob("*"))


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    return Machine(tmp_path)


class TestPython:
    def test_none(self, machine: Machine) -> None:
        assert machine.refusal() == (
            "No CPython 3.11 to 3.14 is on the PATH (there is no python3): "
            "install one, or set TARS_JAX_PYTHON to its path."
        )

    def test_old_and_untried(self, machine: Machine) -> None:
        machine.says("python3", "3.10.13", status=1)
        machine.says("python3.15", "3.15.0, newer than any that was tried", status=1)
        found = machine.refusal()
        assert (
            f"({machine.programs}/python3 is 3.10.13, {machine.programs}/python3.15 is 3.15.0, newer than any" in found
        )

    def test_one_of_another_name_serves(self, machine: Machine) -> None:
        machine.says("python3", "3.10.13", status=1)
        (machine.programs / "python3.12").symlink_to(sys.executable)
        machine.says("df", "Filesystem\nnone 9 9 1000 1% /")
        assert "the set-up needs 4 GB" in machine.refusal()  # and no word of Python

    def test_given(self, machine: Machine) -> None:
        machine.has_python()
        machine.says("old", "3.9.18", status=1)
        start = "TARS_JAX_PYTHON must be a CPython 3.11 to 3.14; "
        old = str(machine.programs / "old")
        assert machine.refusal(TARS_JAX_PYTHON=old) == f"{start}'{old}' is 3.9.18."
        assert machine.refusal(TARS_JAX_PYTHON="python9") == f"{start}'python9' does not run."

    def test_without_venv(self, machine: Machine) -> None:
        """Debian's, whose venv is a package of its own, for somebody who cannot install it."""
        program = machine.programs / "python3"
        machine.does(
            "python3",
            f'[[ $* == *ensurepip* ]] && exit 1; [[ $* == *interpreter.py ]] && echo "$0" && exit\n'
            f'exec "{sys.executable}" "$@"',
        )
        package = f"python3.{sys.version_info.minor}-venv"
        assert machine.refusal() == (
            f"{program} cannot make virtual environments: install {package} (as root: apt-get install {package})."
        )


class TestMachine:
    @pytest.mark.parametrize("processor", ["i686", "armv7l", "riscv64"])
    def test_processor(self, machine: Machine, processor: str) -> None:
        machine.has_python()
        machine.does("uname", f"[ $1 = -s ] && echo Linux || echo {processor}")
        assert machine.refusal() == f"tars_jax needs a processor of 64 bits, x86_64 or aarch64; this is {processor}."

    def test_system(self, machine: Machine) -> None:
        machine.says("uname", "Darwin")
        assert machine.refusal() == "tars_jax runs on Linux; this is Darwin."

    def test_disk(self, machine: Machine) -> None:
        machine.has_python()
        machine.says("df", "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/x 9 9 3000000 1% /")
        assert machine.refusal() == f"The disk of {machine.checkout} has 3.1 GB free; the set-up needs 4 GB."

    def test_a_checkout_that_cannot_be_written(self, machine: Machine) -> None:
        if os.geteuid() == 0:
            pytest.skip("root writes everywhere")
        machine.has_python()
        machine.checkout.chmod(stat.S_IRUSR | stat.S_IXUSR)
        assert machine.refusal() == (
            f"The set-up needs to write to {machine.checkout}: take a copy of the repository in a folder of yours."
        )

    def test_colon(self, tmp_path: pathlib.Path) -> None:
        folder = tmp_path / "a:b"
        folder.mkdir()
        machine = Machine(folder)
        machine.programs = machine.programs.rename(tmp_path / "bin")
        machine.has_python()
        assert machine.refusal().startswith("No virtual environment can be made in a path with a colon; got ")


def test_the_path_of_a_clone_is_read_in_every_locale(tmp_path: pathlib.Path) -> None:
    """Python 3.11 reads a .pth file in the encoding of the locale, and does not start where that fails."""
    clone = tmp_path / 'où \'a "clone" & more'
    clone.mkdir()
    (clone / "found.py").touch()
    environment = {**os.environ, "LC_ALL": "POSIX", "root": str(clone), "venv": "", "python": sys.executable}
    script = ["bash", "-c", f'. "{ROOT}/launch/machine.sh" && path_file']
    line = subprocess.run(script, env=environment, capture_output=True, check=True).stdout.decode("ascii")
    code = f"{line}\nimport found"
    subprocess.run([sys.executable, "-P", "-X", "utf8", "-c", code], env={**environment, "PYTHONPATH": ""}, check=True)


class TestInterpreter:
    @pytest.fixture
    def interpreter(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("interpreter", ROOT / "launch" / "interpreter.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def test_this_one_serves(self, interpreter: ModuleType) -> None:
        assert interpreter.instead() == ""

    @pytest.mark.parametrize(
        ("version", "said"),
        [((3, 10, 13), "3.10.13"), ((3, 15, 0), "3.15.0, newer than any that was tried"), ((3, 14, 9), "")],
    )
    def test_version(
        self, interpreter: ModuleType, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], said: str
    ) -> None:
        monkeypatch.setattr(sys, "version_info", version)
        assert interpreter.instead() == said

    def test_other_kinds(self, interpreter: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        version = platform.python_version()
        with monkeypatch.context() as patch:
            patch.setattr(interpreter.struct, "calcsize", lambda kind: 4)
            assert interpreter.instead() == f"{version} of 32 bits"
        with monkeypatch.context() as patch:
            patch.setattr(platform, "python_implementation", lambda: "PyPy")
            assert interpreter.instead() == f"PyPy {version}"
        for libc in ("", "musl", "glibc 2.17"):
            with monkeypatch.context() as patch:
                patch.setattr(os, "confstr", lambda name, libc=libc: libc)
                assert "on a C library other than glibc 2." in interpreter.instead()
