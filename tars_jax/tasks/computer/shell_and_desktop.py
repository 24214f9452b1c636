"""Tasks over processes, and tasks that need a function and the desktop: neither alone does them."""

from __future__ import annotations

import io
import random
import tarfile

from tars_jax.sandbox.computer.home import File
from tars_jax.tasks.computer.browsing import README
from tars_jax.tasks.computer.desktop import END, ENTER, HOME, SAVE, expect_text
from tars_jax.tasks.computer.scene import (
    COLORS,
    FOLDERS,
    FRUITS,
    ComputerScene,
    MakeScene,
    SceneOutcome,
    expect,
    pick,
    same_text,
    sentence,
)
from tars_jax.tasks.computer.steps import keys, write

QUIET = ">/dev/null 2>&1 &"
# Not every system has ps or pkill.
FIND = 'for p in /proc/[0-9]*; do [ "$(tr "\\0" " " <$p/cmdline)" = "%s " ] && %s ${p#/proc/}; done; true'


def _sleepers(rng: random.Random, count: int) -> tuple[tuple[str, ...], ...]:
    return tuple(("sleep", str(number)) for number in rng.sample(range(10_000, 99_999), count))


def _running(seen: SceneOutcome) -> set[tuple[str, ...]]:
    return {process.argv for process in seen.processes if process.program.startswith(("sleep", "coreutils", "busybox"))}


def end_process(rng: random.Random, level: int) -> ComputerScene:
    """Of several programs that run, one is ended."""
    programs = _sleepers(rng, 1 + level)
    wanted = rng.choice(programs)

    def goal(seen: SceneOutcome) -> str:
        if wanted in _running(seen):
            return f"{' '.join(wanted)} still runs"
        return expect(seen, README) or ("" if _running(seen) == {*programs} - {wanted} else "another has ended")

    command = FIND % (" ".join(wanted), "kill")
    question = f"End the program {' '.join(wanted)!r}, which runs in the background, and no other."
    return ComputerScene(question, README, goal, (command,), programs=programs)


def stop_process(rng: random.Random, level: int) -> ComputerScene:
    """Of several programs that run, one is stopped, so that it can go on."""
    programs = _sleepers(rng, 1 + level)
    wanted = rng.choice(programs)

    def goal(seen: SceneOutcome) -> str:
        if _running(seen) != {*programs}:
            return "a program has ended"
        stopped = {process.argv for process in seen.processes if process.stopped}
        return expect(seen, README) or ("" if stopped == {wanted} else f"{' '.join(wanted)} alone should be stopped")

    command = FIND % (" ".join(wanted), "kill -STOP")
    question = (
        f"Stop the program {' '.join(wanted)!r}, which runs in the background, by a signal after which it can go on."
    )
    return ComputerScene(question, README, goal, (command,), programs=programs)


def serve_folder(rng: random.Random, level: int) -> ComputerScene:
    """A server is started, and goes on."""
    folder, port = rng.choice(FOLDERS), rng.randint(3000, 7999)
    files = {f"{folder}/index.html": File(f"<h1>{sentence(rng, FRUITS, level)}</h1>\n".encode())}

    def goal(seen: SceneOutcome) -> str:
        return expect(seen, files) or ("" if port in seen.ports else f"nothing listens at port {port}")

    answers = f"(: </dev/tcp/127.0.0.1/{port}) 2>/dev/null"
    command = (
        f"python3 -m http.server {port} -d {folder} {QUIET} for i in $(seq 100); do {answers} && break; sleep .1; done"
    )
    question = f"Start a web server at port {port} that serves the folder {folder}, and leave it running."
    return ComputerScene(question, files, goal, (command,))


def show_found(rng: random.Random, level: int) -> ComputerScene:
    """A file is looked for by what it says, and shown."""
    folders, colors, fruits = pick(rng, FOLDERS, 3), pick(rng, COLORS, 3 + level), pick(rng, FRUITS, 3 + level)
    files = {
        f"{rng.choice(folders)}/{color}.txt": File(f"{fruit}\n".encode())
        for color, fruit in zip(colors, fruits, strict=True)
    }
    path = rng.choice(list(files))
    word, name = files[path].text.strip(), path.rpartition("/")[2]

    def goal(seen: SceneOutcome) -> str:
        return expect(seen, files) or ("" if seen.shows("mousepad", name) else f"no editor shows {name}")

    return ComputerScene(
        f"Show the file that says {word} in the editor (mousepad).", files, goal,
        (f"grep -rl {word} */", f"mousepad {path} {QUIET}"),
    )  # fmt: skip


def show_sorted(rng: random.Random, level: int) -> ComputerScene:
    """A list is sorted, and the result shown."""
    words = pick(rng, FRUITS, 3 + level)
    files = {"list.txt": File(("\n".join(words) + "\n").encode())}

    def goal(seen: SceneOutcome) -> str:
        wrong = expect_text(seen, files, "sorted.txt", "\n".join(sorted(words)))
        return wrong or ("" if seen.shows("mousepad", "sorted.txt") else "no editor shows sorted.txt")

    return ComputerScene(
        "Write the lines of list.txt, sorted by the alphabet, to sorted.txt, and show it in the editor (mousepad).",
        files, goal, ("sort list.txt > sorted.txt", f"mousepad sorted.txt {QUIET}"),
    )  # fmt: skip


def sort_unsaved(rng: random.Random, level: int) -> ComputerScene:
    """A text that is only on the screen is saved there, and then worked on."""
    words = pick(rng, FRUITS, 2 + level)

    def goal(seen: SceneOutcome) -> str:
        if not same_text(seen.files.get("note.txt"), "\n".join(words)):
            return "note.txt is not what the editor held"
        if not same_text(seen.files.get("sorted.txt"), "\n".join(sorted(words))):
            return "sorted.txt is not the sorted list"
        return expect(seen, README, ignoring=lambda path: path in ("note.txt", "sorted.txt"))

    return ComputerScene(
        "Save what the open editor holds as note.txt in the home folder, and write its lines, sorted by the alphabet, "
        "to sorted.txt.", README, goal,
        (SAVE, keys("ctrl", "a", window="Save As"), write(f"{HOME}/note.txt"), ENTER,
         keys("ctrl", "end", window="note."),
         "sort note.txt > sorted.txt"), opens=(("editor",),), typed="\n".join(words),
    )  # fmt: skip


def note_process(rng: random.Random, level: int) -> ComputerScene:
    """A number that a shell finds goes into a document that is not saved yet."""
    (program,), words = _sleepers(rng, 1), sentence(rng, FRUITS, 1 + level)
    files = {"notes.txt": File(b"first\n")}
    wanted = f"{words} first\n{program[1]}"  # what is typed stands where the editor begins

    def goal(seen: SceneOutcome) -> str:
        return expect_text(seen, files, "notes.txt", wanted) or ("" if program in _running(seen) else "sleep has ended")

    return ComputerScene(
        "A program called sleep runs. Add its argument, a number, at the end of the text in the open editor, and save.",
        files, goal, ("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -x -A 1 sleep", END, write(program[1]), SAVE),
        programs=(program,), opens=(("editor", "notes.txt"),), typed=f"{words} ",
    )  # fmt: skip


def show_archive(rng: random.Random, level: int) -> ComputerScene:
    """An archive is unpacked, and what was in it shown in the file manager."""
    folder = rng.choice(FOLDERS)
    inner = {f"{folder}/{color}.txt": File(f"{color}\n".encode()) for color in pick(rng, COLORS, 1 + level)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, file in inner.items():
            member = tarfile.TarInfo(path)
            member.size = len(file.data)
            archive.addfile(member, io.BytesIO(file.data))
    files = {"things.tar": File(packed.getvalue())}

    def goal(seen: SceneOutcome) -> str:
        return expect(seen, {**files, **inner}) or ("" if seen.shows("pcmanfm", folder) else f"{folder} is not shown")

    return ComputerScene(
        "Unpack things.tar here, and show the folder that was in it in the file manager (pcmanfm).", files, goal,
        ("tar xf things.tar", f"pcmanfm {HOME}/{folder} {QUIET}"),
    )  # fmt: skip


PROCESS_TASKS: dict[str, MakeScene] = {make.__name__: make for make in (end_process, stop_process, serve_folder)}
TOGETHER_TASKS: dict[str, MakeScene] = {
    make.__name__: make for make in (show_found, show_sorted, sort_unsaved, note_process, show_archive)
}
