"""Kernels inside a computer: our small one and IPython's give the same results."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.tools.kernels import Kernel

pytestmark = pytest.mark.multiprocess


def with_kernel(folder: Path, kind: str, work: Callable[[Kernel], Awaitable[None]]) -> None:
    async def live() -> None:
        async with (
            LocalGuest(folder, folder / "s") as guest,
            Kernel(guest.machine, kind=kind, python=sys.executable) as kernel,
        ):
            await work(kernel)

    asyncio.run(live())


LISTENS = """
import os
lines = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}")]
listening = {line[9] for line in lines if line[3] == "0A"}
names = [f"/proc/self/fd/{one}" for one in os.listdir("/proc/self/fd")]
links = [os.readlink(name) for name in names if os.path.lexists(name)]
sorted(link for link in links if link[8:-1] in listening)
"""
FORKS = """
import multiprocessing
child = multiprocessing.get_context("fork").Process(target=lambda: print("from a child", flush=True))
child.start(), child.join(), __import__("time").sleep(.5)
"""


@pytest.mark.slow
def test_ipython_listens_at_no_port_and_hears_what_forked_programs_print(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    pytest.importorskip("jupyter_client")

    async def work(kernel: Kernel) -> None:
        assert (await kernel.run(LISTENS)).result == "[]"
        assert "from a child" in (await kernel.run(FORKS)).output

    with_kernel(tmp_path, "jupyter", work)


@pytest.mark.parametrize("kind", ["python", pytest.param("jupyter", marks=pytest.mark.slow)])
@pytest.mark.first(1)
def test_cells_share_their_variables(tmp_path: Path, kind: str) -> None:
    if kind == "jupyter":
        pytest.importorskip("ipykernel")
        pytest.importorskip("jupyter_client")

    async def work(kernel: Kernel) -> None:
        assert kernel.kind == kind
        ran = await kernel.run(
            "import sys, os\ndef f(n):\n    return n * 2\nx = 'ä'\nprint(x)\nprint('e', file=sys.stderr)\nf(21)"
        )
        assert (sorted(ran.output.split()), ran.result, ran.error) == (["e", "ä"], "42", "")
        ran = await kernel.run("f(4);\nos.getcwd()")
        assert ran.result == repr(str(tmp_path))
        ran = await kernel.run("def g():\n    raise ValueError('no ö')\ng()")
        assert "ValueError: no ö" in ran.error and "g()" in ran.error and not ran.restarted
        assert "SyntaxError" in (await kernel.run("x = )")).error
        assert (
            await kernel.run("import subprocess; subprocess.run(['echo', 'child'], check=True).returncode")
        ).result == "0"
        assert (await kernel.run("await __import__('asyncio').sleep(0, 'slept')")).result == "'slept'"
        ran = await kernel.run("!echo from the shell")
        assert "from the shell" in ran.output
        ran = await kernel.run("print('begun', flush=True)\nimport time\nwhile True: time.sleep(0.01)", 1.0)
        assert ran.timed_out and not ran.restarted and "begun" in ran.output and "KeyboardInterrupt" in ran.error
        assert (await kernel.run("x")).result == "'ä'"
        slow = asyncio.create_task(kernel.run("while True: pass"))
        await asyncio.sleep(0.5)
        with pytest.raises(InputError, match="a cell must have ended before the next"):
            await kernel.run("1")
        await kernel.interrupt()
        assert "KeyboardInterrupt" in (await slow).error
        ran = await kernel.run("for i in range(20_000): print(i)")
        assert len(ran.output) < 31_000 and ran.output.startswith("0\n1\n") and "bytes cut" in ran.output
        assert ran.output.endswith("\n19999\n")
        picture = "class P:\n    def _repr_png_(self): return b'\\x89PNG picture'\nP()"
        assert (await kernel.run(picture)).images == (b"\x89PNG picture",)
        ran = await kernel.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.plot([3])\nNone")
        assert all(image.startswith(b"\x89PNG") for image in ran.images) and len(ran.images) >= 1, ran
        ran = await kernel.run("os.kill(os.getpid(), 9)", 30)
        assert ran.restarted
        assert "NameError" in (await kernel.run("x")).error

    with_kernel(tmp_path, kind, work)


def test_a_cell_that_does_not_heed_an_interrupt_ends_with_its_kernel(tmp_path: Path) -> None:
    async def work(kernel: Kernel) -> None:
        stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
        ran = await kernel.run(stubborn, 0.3)
        assert ran.timed_out and ran.restarted
        assert (await kernel.run("1 + 1")).result == "2"

    with_kernel(tmp_path, "python", work)


def test_a_kernel_that_is_not_installed_is_named(tmp_path: Path) -> None:
    async def live() -> None:
        with pytest.raises(InputError, match="kind of a kernel must be one of"):
            Kernel(None, kind="julia")  # type: ignore[arg-type]
        async with LocalGuest(tmp_path, tmp_path / "s") as guest:
            bare = tmp_path / "python"
            bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
            bare.chmod(0o755)
            with pytest.raises(InputError, match="pip install ipykernel"):
                await Kernel(guest.machine, kind="jupyter", python=str(bare)).start()
            async with Kernel(guest.machine, python=str(bare)) as kernel:
                assert kernel.kind == "python"
                assert (await kernel.run("6 * 7")).result == "42"

    asyncio.run(live())


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_cells_of_node_share_their_variables(tmp_path: Path) -> None:
    async def work(kernel: Kernel) -> None:
        ran = await kernel.run("const x = 20; console.log('\\x1b[31mred'); console.error('e'); x + 1")
        assert (ran.stdout, ran.stderr, ran.result, ran.error) == ("red\n", "e\n", "21", "")
        other = Kernel.restore(kernel._machine, json.loads(json.dumps(kernel.snapshot())))
        assert (await other.run("await Promise.resolve(x)")).result == "20"
        wrong = await other.run("null.x")
        assert (wrong.error_name, wrong.error[:10], wrong.result) == ("TypeError", "TypeError:", "")
        late = await other.run("for (;;);", 0.3)  # an interrupt ends it
        assert late.timed_out and late.restarted
        assert (await other.run("x")).error_name == "ReferenceError"
        await other.close()

    with_kernel(tmp_path, "node", work)


@pytest.mark.parametrize("kind", ["python", pytest.param("jupyter", marks=pytest.mark.full)])
def test_a_kernel_goes_on_with_another_host(tmp_path: Path, kind: str) -> None:
    """Also when the host before has gone in the middle of a cell, of its output and of a line that it wrote."""
    if kind == "jupyter":
        pytest.importorskip("ipykernel")
        pytest.importorskip("jupyter_client")

    async def work(kernel: Kernel) -> None:
        await kernel.run("x = 20")
        state = json.loads(json.dumps(kernel.snapshot()))
        first = Kernel.restore(kernel._machine, state)
        assert (await first.run("x + 1")).result == "21"
        lost = asyncio.create_task(first.run("import time\nprint('y' * 3000000)\ntime.sleep(2)\nx = 30"))
        await asyncio.sleep(0.5)
        state = first.snapshot()
        lost.cancel()
        assert first._streams is not None
        first._streams[1].write(b'{"code": "x = 1", "ce')
        first._streams[1].close()
        other = Kernel.restore(kernel._machine, state or {})
        with pytest.raises(InputError, match="still running"):
            await other.run("x", timeout_s=0.1)
        assert (await other.run("x")).result == "30"
        await other.detach()
        assert (await other.run("x")).result == "30"
        state = other.snapshot()
        assert state is not None
        await other.close()
        gone = Kernel.restore(kernel._machine, state)
        assert (await gone.run("x")).restarted
        assert "NameError" in (await gone.run("x")).error
        await gone.close()

    with_kernel(tmp_path, kind, work)


def test_what_a_cell_writes_to_its_kernels_stream_ends_that_kernel(tmp_path: Path) -> None:
    """A line of any length, depth or number of digits is no message, and the next cell has a new kernel."""
    find = "import os, stat\nfound = [n for n in range(3, 30) if os.path.exists(f'/proc/self/fd/{n}')]\n"
    find += "out = [n for n in found if stat.S_ISSOCK(os.fstat(n).st_mode)]\n"

    async def work(kernel: Kernel) -> None:
        for line in ("b'[],' * 2_000_000", "b'[' * 100_000", "b'9' * 5_000", "b'[' * 50_000 + b']' * 50_000"):
            ran = await kernel.run(f"{find}data = {line} + b'\\n'\nwhile data: data = data[os.write(out[-1], data):]")
            assert ran.restarted, line
            assert (await kernel.run("1 + 1")).result == "2"

    with_kernel(tmp_path, "python", work)


def test_a_large_image_comes_in_pieces(tmp_path: Path) -> None:
    code = "class Shown:\n    def _repr_png_(self): return bytes(range(256)) * 4096\nShown()"

    async def work(kernel: Kernel) -> None:
        assert (await kernel.run(code)).images == (bytes(range(256)) * 4096,)

    with_kernel(tmp_path, "python", work)


@pytest.mark.parametrize("kind", ["python", pytest.param("jupyter", marks=pytest.mark.slow)])
def test_output_in_pieces_streams_apart_and_html(tmp_path: Path, kind: str) -> None:
    if kind == "jupyter":
        pytest.importorskip("ipykernel")

    async def work(kernel: Kernel) -> None:
        ran = await kernel.run("print('xx' + '中' * 90_000)")
        assert "\ufffd" not in ran.output and "中" in ran.output
        ran = await kernel.run("import sys\nprint('out', flush=True)\nprint('err', file=sys.stderr)")
        assert (ran.stdout, ran.stderr, sorted(ran.output.split())) == ("out\n", "err\n", ["err", "out"])
        await kernel.run("class P:\n    def _repr_html_(self): return '<b>' + 'ä' * 20_000 + '</b>'")
        ran = await kernel.run("P()")
        assert ran.result_html == f"<b>{'ä' * 20_000}</b>" and "__main__.P" in ran.result
        for wrong in (
            "sys.stdout = None",
            "sys.stdout.close()",
            "sys.stderr = sys.stdout = 5",
            "sys.stdout = open('/dev/null', 'w')",
        ):
            await kernel.run(wrong, 20)
            assert (await kernel.run("print('heard')", 20)).output == "heard\n", wrong
        if kind == "jupyter":
            assert (await kernel.run("from IPython.display import HTML, display\ndisplay(HTML('<i>i</i>'))")).html == (
                "<i>i</i>",
            )
            await kernel.run("kept = 7\nfrom IPython.display import publish_display_data as publish")
            for odd in ("{'image/png': [5]}", "{'image/png': 'ä'}", "{'text/plain': 5}", "{'text/html': None}"):
                ran = await kernel.run(f"publish({odd})\nprint(kept)")
                assert "of the kind display_data was left out" in ran.stderr and ran.stdout == "7\n", odd

    with_kernel(tmp_path, kind, work)


def test_magics_are_carried_out_or_refused_by_name(tmp_path: Path) -> None:
    async def work(kernel: Kernel) -> None:
        (tmp_path / "a b").mkdir()
        ran = await kernel.run("%%writefile 'a b/x.py'\nprint('ü')\n%cd nowhere\n")
        assert (ran.output, ran.error) == ("Writing a b/x.py\n", "")
        assert (tmp_path / "a b/x.py").read_text() == "print('ü')\n%cd nowhere\n"
        assert (await kernel.run("%%file -a 'a b/x.py'\nmore")).output == "Appending to a b/x.py\n"
        assert (tmp_path / "a b/x.py").read_text().endswith("nowhere\nmore\n")
        assert (await kernel.run("x = 'a b'\n%cd {x}\n%env Y=5 6\n%pwd")).result == repr(str(tmp_path / "a b"))
        assert (await kernel.run("y = %env Y\ny")).result == "'5 6'"
        assert (await kernel.run("!echo $x {1 + 1} $Y $HOME | cut -c1-10")).output == "a b 2 5 6 \n"
        assert (await kernel.run("if x:\n    names = !ls\nnames")).result == "['x.py']"
        text = "\n%cd /\n!false\n"
        assert (await kernel.run(f't = """{text}"""\n%matplotlib inline\n%time t')).result == repr(text)
        assert (await kernel.run("%%bash\necho one\nx=two; echo $x")).output == "one\ntwo\n"
        assert "CalledProcessError" in (await kernel.run("%%sh\nexit 3")).error
        for cell, name in (("%autoreload 2", "%autoreload"), ("%%html\n<b>", "%%html"), ("x = %who", "%who")):
            ran = await kernel.run(cell)
            assert f"UsageError: {name} must be one of" in ran.error, ran
        assert "FileNotFoundError" in (await kernel.run("%cd /no/such")).error
        assert "SyntaxError" in (await kernel.run("x = = 5\n%cd /")).error

    with_kernel(tmp_path, "python", work)
