"""Debian's packages where programs are root: installed for a computer and its snapshots, and for no other."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from tars_jax.sandbox.computer import packages
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.disks import image_maker
from tars_jax.sandbox.computer.spec import ContainerSpec
from tests.sandbox.computer.containers import needs_root

pytestmark = [
    pytest.mark.multiprocess,
    needs_root,
    pytest.mark.skipif(shutil.which("dpkg") is None, reason="this machine is no Debian"),
    pytest.mark.skipif(image_maker() is None, reason="disks are in memory here"),
]
SPEC = ContainerSpec(root=True)
# A package with a file of another user, who is one of Debian's, and a script that asks for a user of its own.
MADE = """
mkdir -p /made/DEBIAN /made/usr/share/plum && cd /made && echo ripe > usr/share/plum/state
cat > DEBIAN/control <<END
Package: plum
Version: 1.2
Architecture: all
Maintainer: Nobody <nobody@example.org>
Description: a fruit
END
cat > DEBIAN/postinst <<END
#!/bin/sh
set -e
install -d -o man -g man /var/plum
adduser --system --group --no-create-home plum > /dev/null
END
chmod 755 DEBIAN/postinst
dpkg-deb --build /made /plum.deb > /dev/null
apt-get install -y -qq /plum.deb > /log 2>&1
"""


async def said(computer: Computer, script: str) -> list[str]:
    ran = await computer.machine.run(["bash", "-c", script], merge=True)
    return ran.stdout.decode().splitlines()


def test_a_package_is_installed_for_a_computer_and_what_begins_with_it() -> None:
    asked = "dpkg-query -W -f '${Version} ${Status}\\n' plum; cat /usr/share/plum/state; id -un plum; "
    asked += "apt-get check -qq && echo whole"
    before = Path(packages.DATABASE, "status").stat()

    async def live() -> None:
        async with Computers("namespaces", "files") as computers:
            computer = await computers.open(SPEC)
            assert await said(computer, MADE) == [], await said(computer, "cat /log")
            installed = ["1.2 install ok installed", "ripe", "plum", "whole"]
            assert await said(computer, asked) == installed
            snapshot = await computer.snapshot("with a package")
            later = await computers.open(SPEC, snapshot)
            assert await said(later, asked) == installed
            assert await said(later, "apt-get purge -y -qq plum > /log 2>&1; ls /usr/share/plum") == [
                "ls: cannot access '/usr/share/plum': No such file or directory"
            ]
            assert await said(computer, asked) == installed
            other = await computers.open(SPEC)
            assert (await said(other, asked))[0] == "dpkg-query: no packages found matching plum"

    asyncio.run(live())
    assert Path(packages.DATABASE, "status").stat() == before


def test_sources_are_debian_s_and_nothing_of_this_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARS_JAX_DEBIAN", "http://mirror.example/debian")

    async def live() -> None:
        async with Computers("namespaces", "files") as computers:
            computer = await computers.open(SPEC)
            files = await said(computer, "find /etc/apt -type f | sort")
            assert files == ["/etc/apt/apt.conf.d/10computer", "/etc/apt/sources.list"]
            lines = await said(computer, "cat /etc/apt/sources.list")
            assert len(lines) == 3 and all(" http://mirror.example/debian" in line for line in lines)

    asyncio.run(live())


def test_all_names_that_the_database_needs_are_known() -> None:
    names = packages.known_names()
    assert names["etc/passwd"].startswith("root:x:0:0:") and "\nman:x:6:12:" in names["etc/passwd"]
    for file in names.values():
        known = [line.partition(":")[0] for line in file.splitlines()]
        assert len(known) == len(set(known))
    for line in Path(packages.DATABASE, "statoverride").read_text().splitlines():
        user, group, *_ = line.split()
        assert f"\n{user}:" in f"\n{names['etc/passwd']}" and f"\n{group}:" in f"\n{names['etc/group']}"
