"""What every program finds in a container, and what is left of one: nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.isolation import open_isolation
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tests.sandbox.computer.containers import Traces, needs_root, of_each_kind, opened, output
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.multiprocess, pytest.mark.interpreter, needs_root]
ROOT = Path(__file__).parents[3]


@of_each_kind
def test_a_program_has_a_home_a_name_and_nothing_of_the_host(tmp_path: Path, kind: str) -> None:
    tool = tmp_path / "a tool ü"
    tool.mkdir()
    (tool / "word").write_text("given")
    spec = ContainerSpec(binds={"/opt/a tool": tool, "/etc/word": tool / "word"}, environment={"WORD": "a b ü"})

    async def live() -> None:
        async with opened(tmp_path / "containers", kind) as isolation:
            assert isolation.name == kind
            lines = await output(isolation, "id -un; pwd; echo ~ $WORD $$; hostname; cat '/opt/a tool/word'", spec)
            assert lines == ["agent", "/home/agent", "/home/agent a b ü 1", "computer", "given"]
            seen = await output(isolation, "ls -A /root /home /tmp /srv /mnt /work 2>&1; cat /etc/word; ls /proc", spec)
            assert "given" in "".join(seen)
            assert {int(line) for line in seen if line.isdigit()} <= set(range(1, 9))  # processes
            assert not any(line in seen for line in os.listdir("/root"))
            script = "cat /etc/shadow /root/.profile; echo x > /usr/x; echo x > '/opt/a tool/x'"
            hidden = await output(isolation, script, spec)
            refused = ("No such file", "Read-only" if kind == "namespaces" else "Permission denied")
            assert len(hidden) == 4 and all(any(word in line for word in refused) for line in hidden)
            status = await output(isolation, "grep -E 'Cap|NoNew|Seccomp:' /proc/self/status")
            values = dict(line.split() for line in status)
            capabilities = {value for name, value in values.items() if name.startswith("Cap")}
            assert capabilities == {"0" * 16} and len(values) >= 5
            if kind == "namespaces":
                assert (values["NoNewPrivs:"], values["Seccomp:"]) == ("1", "2")

    asyncio.run(live())


@of_each_kind
def test_containers_share_nothing_and_close_in_the_middle(tmp_path: Path, kind: str) -> None:
    traces = Traces(tmp_path / "containers")

    async def live() -> None:
        async with opened(tmp_path / "containers", kind) as isolation:
            traces.note()
            write = "trap '' TERM INT; echo $0 > ~/file; (setsid sleep 600 &) ; echo > $TARS_JAX_RUN/up; sleep 600"
            both = await asyncio.gather(
                *(isolation.launch(ContainerSpec(), ["/bin/sh", "-c", write, name]) for name in ("first", "second"))
            )
            for container, name in zip(both, ("first", "second"), strict=True):
                while not container.host_path(f"{container.run_folder}/up").exists():
                    await asyncio.sleep(0.01)
                assert container.read("/home/agent/file") == f"{name}\n".encode()
                assert container.host_path("/home/agent/file").read_text() == f"{name}\n"
            assert await both[0].wait(0.05) is None
            await both[0].close()
            await both[0].close()
            with pytest.raises(SandboxFailure, match="container: .* is closed"):
                await both[0].wait()
            assert await both[1].wait(0.05) is None
            os.kill(both[1].pid, signal.SIGKILL)
            assert await both[1].wait(PATIENCE_S) == -signal.SIGKILL

    asyncio.run(live())
    assert not traces.left()


@of_each_kind
def test_what_cannot_start_says_so(tmp_path: Path, kind: str) -> None:
    traces = Traces(tmp_path / "containers")

    async def live() -> None:
        async with opened(tmp_path / "containers", kind) as isolation:
            traces.note()
            with pytest.raises(InputError, match="argv must name a program of the container; got '/no/such'"):
                await isolation.launch(ContainerSpec(), ["/no/such"])
            with pytest.raises(SandboxFailure, match="container: it did not start: .*(?i:read-only file system)"):
                await isolation.launch(ContainerSpec(binds={"/usr/new": tmp_path}), ["/bin/true"])

    asyncio.run(live())
    assert not traces.left()
    with pytest.raises(InputError, match="isolation must be auto, .*; got 'docker'"):
        asyncio.run(open_isolation(tmp_path, "docker"))
    for wrong in ({"memory_mib": 1}, {"disk_mib": 1.5}, {"binds": {"/a/../b": tmp_path}}, {"hostname": "a b"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))}.* must "):
            ContainerSpec(**wrong)


_OWNER = """
import asyncio, sys
from pathlib import Path
from tars_jax.sandbox.computer.isolation import open_isolation
from tars_jax.sandbox.computer.spec import ContainerSpec

async def live():
    isolation = await open_isolation(Path(sys.argv[1]), sys.argv[2])
    container = await isolation.launch(ContainerSpec(), ["/bin/sh", "-c", "setsid sleep 631 & sleep 631"])
    print(isolation._launcher.pid, container.pid, flush=True)
    if sys.argv[3:]:
        await container.pause()
    await asyncio.sleep(600)

asyncio.run(live())
"""


@of_each_kind
@pytest.mark.parametrize("killed", ["owner", "owner of a frozen one", "both"])
@pytest.mark.first(2)
def test_a_killed_owner_leaves_nothing(tmp_path: Path, killed: str, kind: str) -> None:
    traces = Traces(tmp_path / "containers")
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(tmp_path / "containers"), kind, *(["frozen"] if "frozen" in killed else [])],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert owner.stdout is not None
    launcher, first = map(int, owner.stdout.readline().split())
    traces.note()
    assert traces.left()
    if "frozen" in killed:
        time.sleep(0.3)
    if killed == "both":
        os.kill(launcher, signal.SIGKILL)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert wait_until(lambda: not Path(f"/proc/{first}").exists())
    if killed == "both":  # nobody was left to remove the files: the next start does

        async def start() -> None:
            async with opened(tmp_path / "containers", kind):
                assert len(list((tmp_path / "containers").glob("run-*"))) == 1

        asyncio.run(start())
    assert wait_until(lambda: not traces.left())
