"""What the kernel counts by user is counted by session: each has a user of this machine's, for as long as it lives."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.users import EACH, Users, first_user, take_block
from tars_jax.sandbox.failures import SandboxFailure
from tests.sandbox.computer.containers import needs_root
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.multiprocess, needs_root]
# Takes what it gets, says how much of each that was, and keeps it while a neighbor asks for the same.
TAKER = """
import ctypes, fcntl, os, resource, signal, time
libc = ctypes.CDLL(None, use_errno=True)
kept = []

def pipe(number):
    kept.append(os.pipe())
    return -1 if fcntl.fcntl(kept[-1][1], fcntl.F_GETPIPE_SZ) < 1 << 16 else 0

def signals(number):
    return libc.sigqueue(os.getpid(), signal.SIGUSR1 if number == 0 else signal.SIGRTMIN, None)

def messages(number):
    return libc.mq_open(b"/q%d" % number, os.O_CREAT | os.O_RDWR, 0o600, None)

def terminals(number):
    try:
        kept.append(os.openpty())
    except OSError:
        return -1

def count(take):
    for number in range(4000):
        if (take(number) or 0) < 0:
            return number
    return -1

resource.setrlimit(resource.RLIMIT_SIGPENDING, (500, 500))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGRTMIN])
kinds = lambda number: libc.inotify_init(), pipe, signals, messages, terminals
print(*(count(take) for take in kinds), flush=True)
time.sleep(600)
"""


async def taken(computer: Computer) -> list[int]:
    _, streams = await computer.machine.pipe(["python3", "-ISc", TAKER])
    return [int(word) for word in (await asyncio.wait_for(streams[0].readline(), PATIENCE_S)).split()]


def test_a_neighbor_gets_what_one_has_taken_all_of() -> None:
    async def live() -> None:
        async with Computers("namespaces") as computers:
            one, other = [await computers.open() for _ in range(2)]
            first = await taken(one)
            assert min(first) > 0 and await taken(other) == first
            (fork,) = await other.fork(1, "files")
            assert await taken(fork) == first
            said = await fork.machine.run(["sh", "-c", "id -un; stat -c %U ~ /run/agent; touch ~/new && rm ~/new"])
            assert said.stdout == b"agent\nagent\nagent\n" and not said.stderr

    asyncio.run(live())


def test_a_user_is_held_until_the_last_gives_it_back(tmp_path: Path) -> None:
    first = 1 << 20
    users = Users(tmp_path / "users", first)
    assert [users.take(f"c{number}") for number in range(EACH)] == list(range(first, first + EACH))
    with pytest.raises(SandboxFailure, match=f"must be {EACH} at most"):
        users.take("one more")
    users.hold(first + 5, "a live copy")
    for holder in ("c5", "c5", "c6"):
        users.give_back(holder)
    after = Users(tmp_path / "users")  # the owner before was killed
    assert after.take("c1024") == first + 6
    after.give_back("a live copy")
    assert after.take("c1025") == first + 5 and after.layer(first + 5).stat().st_mode & 0o777 == 0o755
    assert after.take("a replay", first + 7) == first + 7
    assert len(list((tmp_path / "users").glob("*/root"))) == EACH


def test_owners_have_users_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_jax.sandbox.computer.users.LOCKS", tmp_path / "locks")
    blocks = [take_block(1 << 20) for _ in range(2)]
    assert [first for first, _ in blocks] == [1 << 20, (1 << 20) + EACH]
    os.close(blocks[0][1])
    again = take_block(1 << 20)
    assert again[0] == 1 << 20
    for lock in (blocks[1][1], again[1]):
        os.close(lock)
    for text in ("1000", "-1", "4294967295", "many"):
        monkeypatch.setenv("TARS_JAX_USERS", text)
        with pytest.raises(InputError, match=f"TARS_JAX_USERS must be .*got '{text}'"):
            first_user()
    monkeypatch.setenv("TARS_JAX_USERS", "0")
    assert first_user() == 0
