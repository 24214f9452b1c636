"""Files as they were at one moment, and containers that go on from there, each by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer import disks
from tars_jax.sandbox.computer.container import Container
from tars_jax.sandbox.computer.spec import ContainerSpec
from tests.sandbox.computer.containers import Traces, needs_root, of_each_kind, opened
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.multiprocess, needs_root]
SPEC = ContainerSpec(disk_mib=64)


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", f"{script}; echo > $TARS_JAX_RUN/done; exec sleep 600"]


async def done(container: Container) -> None:
    while True:
        try:
            container.read("/run/agent/done")
            return
        except FileNotFoundError:
            assert await container.wait(0.01) is None


@of_each_kind
@pytest.mark.parametrize("disk", ["image", "memory"])
@pytest.mark.first(2)
def test_forks_begin_with_the_files_of_their_snapshot_and_go_apart(
    tmp_path: Path, disk: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if disk == "memory":
        monkeypatch.setattr(disks, "image_maker", lambda: None)
    traces = Traces(tmp_path / "containers")

    async def live() -> None:
        async with opened(tmp_path / "containers", kind) as isolation:
            traces.note()
            fill = "echo one > 'ä b'; mkdir -p deep/er; echo x > deep/er/x; ln -s deep link; cat /dev/urandom"
            fill = f"{fill} | head -c 9000000 > big"
            parent = await isolation.launch(SPEC, shell(fill))
            await done(parent)
            big = parent.read("/home/agent/big", 10_000_000)
            first = await parent.snapshot("prepared")
            assert 9_000_000 < first.bytes < 40_000_000
            with pytest.raises(InputError, match="name of a snapshot must be a new one; got 'prepared'"):
                await parent.snapshot("prepared")
            change = "rm 'ä b'; rm -r deep; mkdir deep; echo $0 > own; cat link/er/x own"
            forks = await asyncio.gather(
                *(isolation.launch(SPEC, [*shell(change), name], first) for name in ("left", "right"))
            )
            for fork, name in zip(forks, ("left", "right"), strict=True):
                await done(fork)
                lines = fork.read("/run/agent/log").decode().splitlines()
                assert lines[0].endswith("No such file or directory") and lines[1:] == [name]
                assert fork.read("/home/agent/big", 10_000_000) == big
                with pytest.raises(FileNotFoundError):
                    fork.read("/home/agent/ä b")
            assert parent.read("/home/agent/ä b") == b"one\n"
            with pytest.raises(FileNotFoundError):
                parent.read("/home/agent/own")
            await parent.close()
            second = await forks[0].snapshot("a fork's")
            await isolation.remove_snapshot(first)  # the second lies on it
            grandchild = await isolation.launch(SPEC, shell("cat own; ls -A; ls deep"), second)
            await done(grandchild)
            assert grandchild.read("/run/agent/log").decode().split() == ["left", "big", "deep", "link", "own"]
            await isolation.remove_snapshot(second)
            assert grandchild.read("/home/agent/big", 10_000_000) == big

    asyncio.run(live())
    assert not traces.left()


@of_each_kind
@pytest.mark.parametrize("disk", ["image", "memory"])
@pytest.mark.first(2)
def test_a_folder_that_was_there_before_is_renamed_in_one_step(
    tmp_path: Path, disk: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As programs do that put a whole folder aside at once, and no copy of it will do for them."""
    if disk == "memory":
        monkeypatch.setattr(disks, "image_maker", lambda: None)
    rename = "python3 -c \"import os; os.rename('deep', 'moved')\"; ls -R"

    async def live() -> list[str]:
        async with opened(tmp_path / "containers", kind) as isolation:
            parent = await isolation.launch(SPEC, shell("mkdir -p deep/er; echo x > deep/er/x"))
            await done(parent)
            fork = await isolation.launch(SPEC, shell(rename), await parent.snapshot("prepared"))
            await done(fork)
            grandchild = await isolation.launch(SPEC, shell("cat moved/er/x; ls"), await fork.snapshot("renamed"))
            await done(grandchild)
            return [each.read("/run/agent/log").decode() for each in (fork, grandchild)]

    assert asyncio.run(live()) == [".:\nmoved\n\n./moved:\ner\n\n./moved/er:\nx\n", "x\nmoved\n"]


@of_each_kind
@pytest.mark.first(1)
def test_a_paused_container_stands_still_and_goes_on(tmp_path: Path, kind: str) -> None:
    async def live() -> None:
        async with opened(tmp_path, kind) as isolation:
            # Renamed, so that no pause finds it empty.
            count = "i=0; while true; do i=$((i+1)); echo $i > next; mv next count; (sleep 0.01); done"
            container = await isolation.launch(SPEC, ["/bin/sh", "-c", count])
            read: Callable[[], bytes] = lambda: container.read("/home/agent/count")  # noqa: E731
            await asyncio.sleep(0.5)
            await container.pause()
            await container.pause()
            before = read()
            assert before
            await asyncio.sleep(0.3)
            assert read() == before
            taken = await container.snapshot("still")
            await asyncio.sleep(0.2)
            assert read() == before  # a snapshot does not wake it
            await container.resume()
            while read() in (before, b""):
                await asyncio.sleep(0.01)
            other = await isolation.launch(SPEC, ["/bin/cat", "count"], taken)
            assert await other.wait(PATIENCE_S) == 0
            assert other.read("/run/agent/log").endswith(before)
            await container.pause()
            await container.close()

    asyncio.run(live())
