"""Live copies and suspension of computers with a desktop, a kernel and open streams: all go on, each by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser.events import InsertText, KeyDown, KeyUp, MouseMove
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.connection_tracker import Interrupted
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec, EquippedComputer
from tars_jax.sandbox.failures import SandboxFailure
from tests.sandbox.computer.containers import needs_root
from tests.sandbox.computer.test_forks import own_folder as own_folder
from tests.sandbox.computer.test_forks import with_computers
from tests.sandbox.desktop.conftest import require_desktop

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow, needs_root]
DESKTOP = ComputerSpec(parts=("shell", "desktop"), tools=("execute_bash", "JupyterCI"))


def with_equipped(work: Callable[[EquippedComputer], Awaitable[None]], folder: Path, spec: ComputerSpec) -> None:
    async def live(computers: Computers) -> None:
        equipped = await EquippedComputer.open(computers, spec)
        try:
            await work(equipped)
        finally:
            await equipped.close()

    with_computers(live, folder, "live")


async def pixels(equipped: EquippedComputer) -> bytes:
    assert equipped.desktop is not None
    return (await equipped.desktop.screenshot(settle=equipped.desktop.config.settle)).png


@pytest.mark.full
def test_a_desktop_goes_on_in_each_fork_by_itself(tmp_path: Path) -> None:
    require_desktop()

    async def work(parent: EquippedComputer) -> None:
        desktop = parent.desktop
        assert desktop is not None
        await desktop.launch("terminal", "-e", "cat > typed")
        window = (await desktop.windows())[-1]
        await desktop.act([MouseMove(window.x + 90, window.y + 60)])
        await desktop.act([InsertText("before ä 你\n"), KeyDown("Shift")])  # a key is held down over the copy
        before = await pixels(parent)
        forks = await parent.fork(2)
        all_three = [parent, *forks]
        assert [await pixels(each) for each in all_three] == [before] * 3
        for number, each in enumerate(all_three):
            assert each.desktop is not None
            await each.desktop.act([KeyDown("a"), KeyUp("a"), KeyUp("Shift")])
            await each.desktop.act([InsertText(f"{number} łąć\n")])
            await each.desktop.act([KeyDown("Control"), KeyDown("d"), KeyUp("d"), KeyUp("Control")])
        for number, each in enumerate(all_three):
            for _ in range(200):
                if (data := each.computer.container.read("/home/agent/typed")).count(b"\n") == 2:
                    break
                await asyncio.sleep(0.05)
            assert data.decode() == f"before ä 你\nA{number} łąć\n"
        # The display of one is not that of another: a window that is closed in one stays in the others.
        opened = [await each.desktop.launch("terminal") for each in all_three if each.desktop is not None]
        assert len(opened) == 3
        shots = [await pixels(each) for each in all_three]
        await parent.close()
        assert [await pixels(each) for each in forks] == shots[1:]
        for each in forks:
            await each.close()

    with_equipped(work, tmp_path, DESKTOP)


@pytest.mark.full
def test_a_desktop_is_suspended_and_shows_the_same_afterwards(tmp_path: Path) -> None:
    require_desktop()

    async def work(equipped: EquippedComputer) -> None:
        desktop = equipped.desktop
        assert desktop is not None
        await desktop.launch("terminal", "-e", "cat")
        await desktop.act([InsertText("still here")])
        before = await pixels(equipped)
        for _ in range(2):
            server = equipped.computer.container.pid
            assert await equipped.computer.suspend() == "disk"
            assert not Path(f"/proc/{server}").exists()
            with pytest.raises(InputError, match="a desktop must wait: the computer is suspended"):
                await desktop.screenshot()
            await equipped.computer.resume()
            assert await pixels(equipped) == before
        await desktop.act([InsertText("!")])
        assert await pixels(equipped) != before
        await equipped.computer.suspend()

    with_equipped(work, tmp_path, DESKTOP)


def test_a_kernel_keeps_its_variables_in_each_fork(tmp_path: Path) -> None:
    async def work(parent: EquippedComputer) -> None:
        async def cell(of: EquippedComputer, code: str) -> str:
            return (await of.toolbox.call("JupyterCI", {"code": code})).text

        await cell(parent, "x = list(range(3))")
        running = asyncio.create_task(cell(parent, "import time; time.sleep(3); print('slept', len(x))"))
        await asyncio.sleep(1)
        with pytest.raises(InputError, match="a cell must have ended"):
            await parent.fork()
        assert "slept 3" in await running
        forks = await parent.fork(2)
        for number, each in enumerate([parent, *forks]):
            assert str(number) in await cell(each, f"x.append({number}); x[-1]")
        assert [await cell(each, "len(x), x[-1]") for each in [parent, *forks]] == [f"(4, {n})" for n in range(3)]
        again = (await forks[1].fork())[0]
        assert await cell(again, "x") == "[0, 1, 2, 2]"
        for each in (again, *forks):
            await each.close()

    with_equipped(work, tmp_path, ComputerSpec(tools=("execute_bash", "JupyterCI")))


def test_a_connection_to_a_port_ends_and_says_why(tmp_path: Path) -> None:
    async def work(equipped: EquippedComputer) -> None:
        machine = equipped.computer.machine
        serve = "import socket, time; s = socket.create_server(('127.0.0.1', 4000)); first = s.accept(); "
        await machine.start(["python3", "-c", serve + "s.accept()[0].sendall(b'second'); time.sleep(600)"])
        for _ in range(100):
            try:
                reader, writer = await machine.connect(4000)
                break
            except InputError:
                await asyncio.sleep(0.05)
        reading = asyncio.create_task(reader.read(1))
        fork = (await equipped.computer.fork(1, "live"))[0]
        with pytest.raises(Interrupted, match="ended for a live copy"):
            await reading
        writer.close()
        for of in (machine, fork.machine):
            again, closing = await of.connect(4000)
            assert await again.readexactly(6) == b"second"
            closing.close()
        await fork.close()
        with pytest.raises(SandboxFailure):
            await fork.machine.connect(4000)

    with_equipped(work, tmp_path, ComputerSpec())
