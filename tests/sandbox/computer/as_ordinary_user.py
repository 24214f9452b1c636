"""Containers by bubblewrap, used as an ordinary user would; test_bubblewrap.py starts it as one.

as_ordinary_user.py FOLDER [wait]      (with `wait` it stays, until it is killed)
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.computer.contained_guest import ContainedGuest
from tars_jax.sandbox.computer.forks import save
from tars_jax.sandbox.computer.isolation import open_isolation
from tars_jax.sandbox.computer.recording import CallRecording
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import Broken
from tars_jax.sandbox.shell.shell import Shell
from tests.waiting import PATIENCE_S, until


async def live(folder: Path, stays: bool) -> None:
    isolation = await open_isolation(folder)
    assert isolation.name == "bubblewrap"

    async def said(script: str, spec: ContainerSpec) -> tuple[int | None, list[str]]:
        container = await isolation.launch(spec, ["sh", "-c", script])
        status = await container.wait(PATIENCE_S)
        lines = container.read("/run/agent/log", 3000).decode().splitlines()
        await container.close()
        return status, lines

    small = ContainerSpec(disk_mib=32, processes=16, memory_mib=256)
    status, lines = await said("id -un; pwd; hostname; echo $$; ls -A /root; cat /etc/shadow; exit 5", small)
    assert (status, lines[:4]) == (5, ["agent", "/home/agent", "computer", "1"]), lines
    assert len(lines) == 5 and "No such file" in lines[4], lines
    status, lines = await said("unshare -U true; echo x > /usr/x; sh -c 'kill -9 $$'; exit $?", small)
    assert status == -9 and "not permitted" in lines[0] and "Read-only" in lines[1], (status, lines)
    _, lines = await said("yes | head -c 1G > f; ls -s f", small)
    assert "No space left" in lines[0] and lines[1] == "32768 f", lines
    _, lines = await said("i=0; while [ $i -lt 40 ]; do sleep 3 & i=$((i+1)); done; wait", small)
    assert any("fork" in line for line in lines), lines
    try:
        await isolation.launch(small, ["/no/such"])
        raise AssertionError("a program that is not there")
    except InputError as error:
        assert "argv must name a program of the container; got '/no/such'" in str(error)

    limit = "import resource as r; r.setrlimit(r.RLIMIT_CORE, (0, 0)); r.prlimit(1, r.RLIMIT_AS, (9, 9))"
    turns = "import os; os.setpriority(0, 0, 5); os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
    turns += "; os.setpriority(0, 1, 9)"
    moves = "mv /home/agent /home/x; rmdir /tmp; echo x > /dev/file"
    status, lines = await said(f"exec 2>&1; {moves}; python3 -Sc '{limit}'; python3 -Sc '{turns}'; exit 3", small)
    told = "\n".join(lines)
    assert status == 3 and "/home/agent" in told and "Read-only" in told and told.count("not permitted") == 2, lines

    # What an agent's own files are does not stop a copy, and leads it nowhere out.
    secret = folder.parent / "secret"
    secret.write_text("the host's")
    odd = f"ln -s {secret} l; ln -s {secret.parent} d; echo shut > m; mkdir shut; echo in > shut/f; chmod 0 m shut"
    deep = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do n=$(printf %0250d 7); mkdir $n; cd $n; done"
    parent = await isolation.launch(small, ["sh", "-c", f"{odd}; ({deep}; echo deep > f); exec sleep 600"])
    await until(lambda: Path(f"/proc/{parent.pid}/cmdline").read_bytes().startswith(b"sleep"))
    snapshot = await parent.snapshot("odd")
    look = "readlink l; test -L d && echo link; ls -ld m shut | cut -c1-10; chmod 700 shut m; cat m shut/f"
    fork = await isolation.launch(small, ["sh", "-c", f"{look}; find . -name f | wc -l"], snapshot)
    assert await fork.wait(PATIENCE_S) == 0
    lines = fork.read("/run/agent/log").decode().split("\n")[:-1]
    assert lines == [str(secret), "link", "----------", "d---------", "shut", "in", "2"], lines
    await parent.close()

    # Nor does a home that is closed to its owner, nor do bits that would make a program of the host's disk this user's.
    shut = "cp /bin/true s; echo in > f; chmod 6755 s; chmod 1700 /tmp; chmod 000 ~"
    async with ContainedGuest(isolation, small) as guest:
        assert (await guest.machine.run(["sh", "-c", shut])).status == 0
        saved = await save(isolation, guest, "files", None, record=False)
        again = await saved.open()
        look = "stat -c %a ~ /tmp; cat ~/f; stat -c %a ~/s"
        ran = await again.machine.run(["sh", "-c", look])
        assert ran.stdout.split() == [b"700", b"1700", b"in", b"755"], ran
        await again.__aexit__()

    all_terminals = "import os, time\nkept = []\ntry:\n    while True: kept.append(os.openpty())\n"
    all_terminals += "except OSError: print(len(kept), flush=True); time.sleep(600)"
    async with ContainedGuest(isolation, small) as guest:
        take = f"python3 -c '{all_terminals}' > n & until grep . n; do sleep .01; done"
        assert (await guest.machine.run(["sh", "-c", take])).stdout == b"256\n"
        try:
            await Shell(guest.machine).open()
            raise AssertionError("a terminal more than there are")
        except Broken as error:
            assert "no further terminal" in str(error)

    count = "echo one > a; (setsid sleep 633 &); i=0; while sleep 0.01; do i=$((i+1)); echo $i > c; done"
    parent = await isolation.launch(ContainerSpec(), ["/bin/sh", "-c", count])
    await until(lambda: parent.host_path("/home/agent/c").exists())
    await parent.pause()
    before = parent.read("/home/agent/c")
    await asyncio.sleep(0.3)
    assert parent.read("/home/agent/c") == before
    snapshot = await parent.snapshot("still")
    await parent.resume()
    await until(lambda: parent.read("/home/agent/c") not in (before, b""))
    fork = await isolation.launch(ContainerSpec(), ["/bin/cat", "a", "c"], snapshot)
    assert await fork.wait(PATIENCE_S) == 0
    assert fork.read("/run/agent/log") == b"one\n" + before
    async with ContainedGuest(isolation, ContainerSpec(), recording=CallRecording()) as guest:
        look = "ls -A /run /run/agent; echo on > ~/own; exec 2>&1; rm -r /run/agent"
        ran = await guest.machine.run(["sh", "-c", look])
        assert b"socket" not in ran.stdout and b"guest" not in ran.stdout, ran
        await guest.machine.client.close()
        assert "root alone" in await isolation.why_not_live()
        saved = await save(isolation, guest, "replay", None, record=True)
        again = await saved.open()
        assert (await again.machine.run(["cat", "own"])).stdout == b"on\n"
        await again.__aexit__()
    print(parent.pid, flush=True)
    if stays:
        await asyncio.sleep(600)
    await isolation.close()


asyncio.run(live(Path(sys.argv[1]), bool(sys.argv[2:])))
