"""What the disk does not take has not been done, and what it has damaged costs a session no more than that."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import MouseDown, MouseUp, PageError, SandboxFailure
from tars_jax.sandbox.browser.downloads import Downloads
from tars_jax.sandbox.browser.processes import SandboxRun
from tars_jax.sandbox.browser.sessions import PageSession, PageSessions
from tars_jax.sandbox.browser.sessions.calls import Act, Evaluate
from tars_jax.sandbox.browser.sessions.journal import Journal, JournalEntry, read_journal, recover_journal
from tars_jax.sandbox.browser.sessions.recording import PageRecording, play
from tars_jax.sandbox.browser.sessions.store import PageStore, read_run
from tars_jax.sandbox.browser.site import PageSpec, Site

PAGE = """<pre id=shown></pre><script>let clicks = 0; addEventListener('click', () => { clicks += 1;
  shown.textContent = `${clicks} ${Math.random()} ${performance.now()}`; });</script>"""
CLICK = (MouseDown(30, 60), MouseUp(30, 60))
DIGEST = f"sha256:{'0' * 64}"


@contextlib.contextmanager
def full_disk(most: int) -> Iterator[None]:
    """The kernel takes no file of this process beyond so many bytes: the write that goes over them is cut off there."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def journal_of(folder: Path, session: PageSession) -> Path:
    (file,) = (folder / session.id).glob("journal-*.jsonl")
    return file


def some_journal(file: Path, calls: int = 3) -> Journal:
    journal = Journal(PageSpec(Site(Path("/site")), 96, 96), 5)
    journal.write_to(file)
    for number in range(calls):
        journal.append(JournalEntry(Act((), float(number)), DIGEST, f"word {number}"))
    return journal


def test_a_line_is_whole_or_none(tmp_path: Path) -> None:
    journal = some_journal(file := tmp_path / "journal.jsonl")
    kept, entry = file.read_bytes(), JournalEntry(Act((), 9.0), DIGEST)
    for room in (0, 1, 60):
        with full_disk(len(kept) + room), pytest.raises(OSError):
            journal.append(entry)
        assert file.read_bytes() == kept and journal.calls == 8
    with full_disk(100), pytest.raises(OSError):
        journal.write_to(tmp_path / "other.jsonl")
    with full_disk(100), pytest.raises(OSError):
        journal.require_room()
    journal.require_room()
    assert [each.name for each in tmp_path.iterdir()] == ["journal.jsonl"]
    file.write_bytes(kept + b'{"call": torn')  # where even cutting it off went wrong, the next line does it
    journal.append(entry)
    assert read_journal(file).entries == journal.entries and journal.calls == 9
    journal.take_back()
    assert file.read_bytes() == kept and journal.calls == 8


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_takes_over_and_cuts_back(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]).returncode:
        pytest.skip("this root may not mount")
    try:
        store, run = PageStore(tmp_path), SandboxRun()
        store.take_over(run)
        journal = some_journal(tmp_path / "journal.jsonl")
        kept, entry = (tmp_path / "journal.jsonl").read_bytes(), JournalEntry(Evaluate("7" * 5000), "value")
        with (tmp_path / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space left"):
            while True:
                filler.write(bytes(512))
        with pytest.raises(OSError, match="No space left"):
            journal.append(entry)
        with pytest.raises(OSError, match="No space left"):
            journal.require_room()
        assert (tmp_path / "journal.jsonl").read_bytes() == kept
        store.take_over(run)
        assert read_run(tmp_path) == (run.token, run.folder)
        (tmp_path / "filler").unlink()
        journal.append(entry)
        assert read_journal(tmp_path / "journal.jsonl").entries[-1] == entry
        run.finish()
        store.close()
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize(
    ("damage", "calls", "lost"),
    [
        (lambda lines: [*lines, b'{"call": {"call": "act", "ev'], 8, 0),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], 7, 0),  # its line break alone is missing
        (lambda lines: [*lines, b"\0" * 4096], 8, 0),
        (lambda lines: [*lines[:2], b"\xff\xfe\n", *lines[3:]], 6, 2),
        (lambda lines: [*lines[:3], b'{"call": 7, "result": "value", "idempotency_key": null}\n'], 7, 1),
        (lambda lines: [lines[0], lines[1].replace(b"sha256", b"sha257"), *lines[2:]], 5, 3),
        (lambda lines: [lines[0], b"[" * 100_000 + b"\n", *lines[2:]], 5, 3),
    ],
)
def test_a_journal_ends_before_an_unreadable_line(tmp_path: Path, damage: Any, calls: int, lost: int) -> None:
    whole = some_journal(file := tmp_path / "journal.jsonl")
    file.write_bytes(b"".join(damage(file.read_bytes().splitlines(keepends=True))))
    with full_disk(0):  # to cut it back takes no room
        journal, cut = recover_journal(file)
    assert (journal.calls, cut) == (calls, lost) and journal.entries == whole.entries[: calls - 5]
    journal.append(JournalEntry(Evaluate("1"), "value"))
    assert read_journal(file).entries == journal.entries


def test_a_download_that_the_disk_does_not_take_is_none(tmp_path: Path) -> None:
    downloads = Downloads(tmp_path, 1 << 20)

    def incoming(text: str) -> Path:
        file = tmp_path / "incoming" / "guid"
        file.write_text(text)
        return file

    for number, text in enumerate("abc", 1):
        assert downloads.take(incoming(text), f"{text}.txt", "data:").number == number
    with full_disk(10), pytest.raises(OSError):
        downloads.take(incoming("d"), "d.txt", "data:")
    assert not list((tmp_path / "incoming").iterdir()) and len(downloads.kept) == 3
    (tmp_path / "2.json").write_bytes(b"\0\0")  # a damaged record hides neither its file nor those behind it
    with full_disk(0):
        again = Downloads(tmp_path, 1 << 20)
    assert [each.name for each in again.kept] == ["a.txt", "download", "c.txt"] and again.kept[1].bytes == 1
    file = again.file(2)
    assert file is not None and file.read_text() == "b" and again.file(4) is None
    assert again.take(incoming("d"), "d.txt", "data:").number == 4


@pytest.mark.browser
def test_a_call_that_cannot_be_kept_is_undone(laboratory: Any, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"

    async def live() -> str:
        async with PageSessions(laboratory.manager, folder=folder) as sessions:
            session = await sessions.open_page(laboratory.site(PAGE))
            sessions.record(session)
            before = await session.call(Act(CLICK, 40, "clicks"), idempotency_key="a")
            kept = journal_of(folder, session).read_bytes()
            for call in (Act(CLICK, 40, "clicks"), Evaluate("clicks = 7"), Evaluate("clicks = 8; nothing.here")):
                for most in (20, len(kept) + 50):
                    with full_disk(most), pytest.raises(SandboxFailure, match="disk: the call does not count") as full:
                        await session.call(call, idempotency_key="b")
                    assert full.value.kind == "disk" and session.calls == 1
                    assert journal_of(folder, session).read_bytes() == kept
                assert session.last == before  # and not what was undone
            assert await session.call(Act(CLICK, 40, "clicks"), idempotency_key="a") == before
            after = await session.call(Act(CLICK, 40, "clicks"), idempotency_key="b")  # carried out once
            assert after.data == 2 and session.calls == 2
            with pytest.raises(PageError):
                await session.evaluate("clicks = 8; nothing.here")
            with full_disk(100), pytest.raises(SandboxFailure, match="disk: the lease has its length as before"):
                sessions.renew(session.id, 55)
            assert (session.lease.seconds, sessions.renew(session.id, 66).lease.seconds) == (120, 66)
            assert session.recording is not None and await play(session.recording.folder, laboratory.manager) == 2
            return session.id

    id = laboratory.run(live())
    folder_of_session = folder / id
    # A kill between the two files: the recording has a call that its session does not know of.
    recorded = folder_of_session / "recording" / "journal.jsonl"
    lines = recorded.read_bytes().splitlines(keepends=True)
    recorded.write_bytes(b"".join([*lines, lines[-1]]))

    async def adopt() -> None:
        with full_disk(4000):  # there is still no room for anything of size
            async with PageSessions(laboratory.manager, folder=folder) as sessions:
                session = sessions.get(id)
                assert (session.calls, session.lease.seconds) == (3, 66) and session.recording is not None
                assert session.seconds_left > 60  # nobody could renew it while no service was there
                assert await session.evaluate("clicks") == 8
                assert await play(session.recording.folder, laboratory.manager) == 2
                assert len(read_journal(recorded).entries) == 4

    laboratory.run(adopt())


@pytest.mark.browser
def test_a_session_or_recording_that_cannot_be_kept_is_not_begun(laboratory: Any, tmp_path: Path) -> None:
    async def live() -> None:
        site = laboratory.site(PAGE)
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            await (await sessions.open_page(site)).close()  # its browser takes the next page: none starts without room
            with full_disk(10), pytest.raises(SandboxFailure, match="disk: no session has been opened: File too large"):
                await sessions.open_page(site)
            assert sessions.all_of() == [] and not [each for each in tmp_path.iterdir() if each.is_dir()]
            session = await sessions.open_page(site)
            with full_disk(10), pytest.raises(SandboxFailure, match="disk: the session is not recorded"):
                sessions.record(session)
            assert session.recording is None
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            assert sessions.get(session.id).recording is None

    laboratory.run(live())


@pytest.mark.browser
def test_a_start_on_a_fresh_page_that_cannot_be_kept_is_undone(
    laboratory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tars_jax.sandbox.browser.sessions.session.LONG_WAY", 2)

    async def live() -> None:
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            session = await sessions.open_page(laboratory.site(PAGE))
            for _ in range(2):
                before = await session.act(CLICK, advance_ms=40, read="clicks")
            with full_disk(100), pytest.raises(SandboxFailure, match="disk"):
                await session.start("0", seed=4)
            assert await session.act([], advance_ms=0, read="clicks") == before
            await session.start("0", seed=4)
            assert (session.calls, session.journal.before) == (4, 3) and journal_of(
                tmp_path, session
            ).stem == "journal-3"

    laboratory.run(live())


@pytest.mark.browser
def test_a_damaged_journal_costs_the_calls_behind_the_damage(
    laboratory: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def live() -> None:
        site = laboratory.site(PAGE)
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            middle, head, lease, gone = [await sessions.open_page(site) for _ in range(4)]
            sessions.record(middle)
            shown = [await middle.act(CLICK, advance_ms=40, read="clicks") for _ in range(3)]
            for session in (middle, head):
                assert session.downloads is not None
                (tmp_path / session.id / "downloads" / "incoming" / "guid").write_text("report")
                session.downloads.take(tmp_path / session.id / "downloads" / "incoming" / "guid", "report.txt", "data:")
        file = journal_of(tmp_path, middle)
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join([*lines[:2], b"\0" * len(lines[2]) + b"\n", lines[3]]))
        journal_of(tmp_path, head).write_bytes(b"\0\n")
        (tmp_path / lease.id / "session.json").write_bytes(b"")
        (tmp_path / gone.id / "session.json").unlink()  # a release that a kill cut short
        caplog.clear()
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            (session,) = sessions.all_of()
            assert session.id == middle.id and session.calls == 1 and session.to_json()["downloads"] == 1
            assert [event.data for event in session.events.after(0) if event.kind == "lost"] == [
                {"calls": 1, "lost": 2}
            ]
            assert await session.act([], advance_ms=0, read="clicks") == shown[0]
            assert session.recording is not None and await play(session.recording.folder, laboratory.manager) == 2
        said = "\n".join(record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
        assert f"{middle.id} has lost its last 2 calls" in said and f"{lease.id} cannot be adopted" in said
        assert (tmp_path / f"{head.id}.unreadable" / "downloads" / "1").read_text() == "report"
        assert (tmp_path / f"{lease.id}.unreadable").exists() and not (tmp_path / gone.id).exists()

    laboratory.run(live())


@pytest.mark.browser
def test_a_session_whose_site_is_away_waits_for_it(laboratory: Any, tmp_path: Path) -> None:
    """A folder that is mounted after the service has started."""

    async def live() -> None:
        site = laboratory.site(PAGE)
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            left = await sessions.open_page(site)
            before = await left.act(CLICK, advance_ms=40, read="clicks")
        index = site.root / site.index
        index.rename(index.with_suffix(".away"))
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            session = sessions.get(left.id)
            with pytest.raises(InputError, match="site.index must be a file of .*; got 'index.html'"):
                await session.act([], advance_ms=0)
            index.with_suffix(".away").rename(index)
            assert await session.act([], advance_ms=0, read="clicks") == before

    laboratory.run(live())


def test_a_recording_that_lacks_calls_begins_anew(tmp_path: Path) -> None:
    journal = some_journal(tmp_path / "journal.jsonl", 1)
    recording = PageRecording(tmp_path / "recording", journal)
    assert json.loads((tmp_path / "recording" / "journal.jsonl").read_text().splitlines()[0])["before"] == 5
    frame = recording.folder / "frames" / "000003.png"
    frame.write_bytes(b"of a call that a kill has cut off")
    for _ in range(2):
        resumed = PageRecording.resume(recording.folder, journal)
        assert not frame.exists() and read_journal(resumed.folder / "journal.jsonl").entries == journal.entries
        journal.append(JournalEntry(Evaluate("1"), "value"))  # the recording has lost this one
