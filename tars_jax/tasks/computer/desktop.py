"""Tasks for mouse and keyboard alone: an editor, a file manager, a calculator, a terminal's window."""

from __future__ import annotations

import random
import shlex

from tars_jax.sandbox.computer.home import File
from tars_jax.tasks.computer.scene import (
    COLORS,
    FOLDERS,
    FRUITS,
    ComputerScene,
    MakeScene,
    SceneOutcome,
    expect,
    in_trash,
    pick,
    same_text,
    sentence,
)
from tars_jax.tasks.computer.steps import Gui, click, keys, write

HOME = "/home/agent"
END, ALL, SAVE, COPY, PASTE = (keys("ctrl", key) for key in ("end", "a", "s", "c", "v"))
ENTER = keys("enter")


def _notes(rng: random.Random, count: int) -> dict[str, File]:
    return {f"{color}.txt": File(f"{sentence(rng, FRUITS, 4)}\n".encode()) for color in pick(rng, COLORS, count)}


def expect_text(seen: SceneOutcome, files: dict[str, File], path: str, wanted: str) -> str:
    """The first thing wrong where `path` should have a new text, and the other files theirs; empty: nothing."""
    if not same_text(seen.files.get(path), wanted):
        return f"{path} does not say what it should"
    return expect(
        seen, {name: file for name, file in files.items() if name != path}, ignoring=lambda name: name == path
    )


def add_line(rng: random.Random, level: int) -> ComputerScene:
    """A line is added in an editor, and saved."""
    files, line = _notes(rng, level), sentence(rng, FRUITS, 1 + level)
    name = rng.choice(list(files))
    wanted = files[name].text + line
    return ComputerScene(
        f"Add the line {line!r} at the end of {name} in the editor, and save it.", files,
        lambda seen: expect_text(seen, files, name, wanted), (END, write(f"{line}\n"), SAVE), opens=(("editor", name),),
    )  # fmt: skip


def rewrite_note(rng: random.Random, level: int) -> ComputerScene:
    """All of a text is replaced."""
    files, text = _notes(rng, level), sentence(rng, COLORS, 2 + level)
    name = rng.choice(list(files))
    return ComputerScene(
        f"Replace all that {name} says by {text!r} in the editor, and save it.", files,
        lambda seen: expect_text(seen, files, name, text), (ALL, write(text), SAVE), opens=(("editor", name),),
    )  # fmt: skip


def save_copy(rng: random.Random, level: int) -> ComputerScene:
    """A document is saved under another name in another folder."""
    files, folder, name = _notes(rng, level), rng.choice(FOLDERS), f"{rng.choice(FRUITS)}.txt"
    source = rng.choice(list(files))
    wanted = {**files, f"{folder}/{name}": files[source]}
    return ComputerScene(
        f"Save the open document as {name} in the folder {folder}, too.", files, lambda seen: expect(seen, wanted),
        (keys("ctrl", "shift", "s"), keys("ctrl", "a", window="Save As"), write(f"{HOME}/{folder}/{name}"), ENTER),
        (folder,), opens=(("editor", source),),
    )  # fmt: skip


def save_unsaved(rng: random.Random, level: int) -> ComputerScene:
    """A text that is in no file yet is saved."""
    text, name = sentence(rng, FRUITS, 2 + level), f"{rng.choice(COLORS)}.txt"
    files = {"readme.txt": File(b"nothing\n")}
    return ComputerScene(
        f"Save what the open editor holds as {name} in the home folder.", files,
        lambda seen: expect_text(seen, files, name, text),
        (SAVE, keys("ctrl", "a", window="Save As"), write(f"{HOME}/{name}"), ENTER), opens=(("editor",),), typed=text,
    )  # fmt: skip


def open_document(rng: random.Random, level: int) -> ComputerScene:
    """Another document is opened from the editor."""
    files = _notes(rng, 2 + level)
    first, wanted = pick(rng, list(files), 2)

    def goal(seen: SceneOutcome) -> str:
        return expect(seen, files) or ("" if seen.shows("mousepad", wanted) else f"no editor shows {wanted}")

    return ComputerScene(
        f"Open {wanted} in the editor.", files, goal, (keys("ctrl", "o"), write(f"{HOME}/{wanted}\n", "Open File")),
        opens=(("editor", first),),
    )  # fmt: skip


def copy_text(rng: random.Random, level: int) -> ComputerScene:
    """The text of one editor goes to the end of another's."""
    files = _notes(rng, 1 + level)
    target, source = pick(rng, list(files), 2)
    wanted = files[target].text + files[source].text
    return ComputerScene(
        f"Copy all that {source} says to the end of {target}, and save {target}.", files,
        lambda seen: expect_text(seen, files, target, wanted),
        (ALL, COPY, _into(target), keys("ctrl", "end", window=target), PASTE, SAVE),
        opens=(("editor", target), ("editor", source)),
    )  # fmt: skip


def close_window(rng: random.Random, level: int) -> ComputerScene:
    """Of several windows, one is closed."""
    files = _notes(rng, 2)
    wanted, other = pick(rng, list(files), 2)
    solution = (keys("alt", "f4", window=wanted),)

    def goal(seen: SceneOutcome) -> str:
        if seen.shows("mousepad", wanted):
            return f"{wanted} is still shown"
        return expect(seen, files) or ("" if seen.shows("mousepad", other) else f"{other} is no longer shown")

    return ComputerScene(
        f"Close the window of {wanted}, and leave the other open.", files, goal,
        (_into(wanted), *solution), opens=tuple(("editor", name) for name in files),
    )  # fmt: skip


def rename_in_files(rng: random.Random, level: int) -> ComputerScene:
    """A file gets another name in the file manager."""
    files, fruit = _notes(rng, 2 + level), rng.choice(FRUITS)
    name = rng.choice(list(files))
    wanted = {(f"{fruit}.txt" if path == name else path): file for path, file in files.items()}
    return ComputerScene(
        f"Rename {name} to {fruit}.txt.", files, lambda seen: expect(seen, wanted),
        (*_select(name), keys("f2"), keys("ctrl", "a", window="Rename"), write(f"{fruit}.txt\n", "Rename")),
        opens=(("files", HOME),), commands=(f"mv {name} {fruit}.txt",),
    )  # fmt: skip


def delete_in_files(rng: random.Random, level: int) -> ComputerScene:
    """A file is deleted in the file manager, at once or to the trash."""
    files = _notes(rng, 2 + level)
    name = rng.choice(list(files))
    wanted = {path: file for path, file in files.items() if path != name}
    return ComputerScene(
        f"Delete {name}.", files, lambda seen: expect(seen, wanted, ignoring=in_trash),
        (*_select(name), keys("shift", "delete"), keys("enter", window="Confirm")), opens=(("files", HOME),),
        commands=(f"rm {name}",), deletes=(name,),
    )  # fmt: skip


def make_folder(rng: random.Random, level: int) -> ComputerScene:
    """A new folder is made in the file manager."""
    files, name = _notes(rng, level), " ".join(pick(rng, FRUITS, 1 + level // 2))

    def goal(seen: SceneOutcome) -> str:
        return expect(seen, files) or ("" if name in seen.folders else f"there is no folder {name}")

    new = (keys("ctrl", "shift", "n"), keys("ctrl", "a", window="Creating"), write(f"{name}\n", "Creating"))
    return ComputerScene(
        f"Make a new folder called {name!r}.", files, goal, new, opens=(("files", HOME),),
        commands=(f"mkdir {shlex.quote(name)}",),
    )  # fmt: skip


def move_in_files(rng: random.Random, level: int) -> ComputerScene:
    """A file is moved to a folder in the file manager."""
    files, folder = _notes(rng, 1 + level), rng.choice(FOLDERS)
    name = rng.choice(list(files))
    wanted = {(f"{folder}/{path}" if path == name else path): file for path, file in files.items()}
    return ComputerScene(
        f"Move {name} into {folder}.", files, lambda seen: expect(seen, wanted),
        (*_select(name), keys("ctrl", "x"), keys("ctrl", "l"), write(f"{HOME}/{folder}\n"),
         keys("ctrl", "v", window=folder)),
        (folder,), opens=(("files", HOME),), commands=(f"mv {name} {folder}/",),
    )  # fmt: skip


def open_folder(rng: random.Random, level: int) -> ComputerScene:
    """The file manager shows a folder that lies in another."""
    outer, inner = pick(rng, FOLDERS, 2)
    files = {f"{outer}/{inner}/{path}": file for path, file in _notes(rng, level).items()}

    def goal(seen: SceneOutcome) -> str:
        return expect(seen, files) or ("" if seen.shows("pcmanfm", inner) else f"{inner} is not shown")

    steps = (keys("ctrl", "l"), write(f"{HOME}/{outer}/{inner}\n"))
    return ComputerScene(f"Show the folder {inner}, which is in {outer}.", files, goal, steps, opens=(("files", HOME),))


def calculate(rng: random.Random, level: int) -> ComputerScene:
    """A sum that a calculator does."""
    numbers = [rng.randint(11, 10 ** (1 + level) - 1) for _ in range(2)]
    result, files = str(numbers[0] * numbers[1]), {"readme.txt": File(b"nothing\n")}

    def goal(seen: SceneOutcome) -> str:
        if (seen.answer or "").strip().rstrip(".").replace(",", "") != result:
            return f"the answer is not {result}"
        return expect(seen, files)

    question = f"What is {numbers[0]} times {numbers[1]}? Answer with the number."
    sum_ = f"{numbers[0]}*{numbers[1]}\n"
    return ComputerScene(question, files, goal, (write(sum_, "galculator"),), answer=result, opens=(("calculator",),))


def type_in_terminal(rng: random.Random, level: int) -> ComputerScene:
    """A command is typed into a terminal's window."""
    words = pick(rng, FRUITS, 3 + level)
    files, name = {"list.txt": File(("\n".join(words) + "\n").encode())}, f"{rng.choice(COLORS)}.txt"
    return ComputerScene(
        f"Write the lines of list.txt, sorted by the alphabet, to {name}, in the terminal.", files,
        lambda seen: expect_text(seen, files, name, "\n".join(sorted(words))), (write(f"sort list.txt > {name}\n"),),
        opens=(("terminal",),),
    )  # fmt: skip


def _into(title: str) -> Gui:
    """A click into the text of an editor, so that its window gets the keys."""
    return click(-60, 100, title)


def _select(name: str) -> tuple[Gui, ...]:
    """In the file manager, which finds a file by the beginning of its name."""
    return write(name.partition(".")[0], "agent"), keys("escape")


DESKTOP_TASKS: dict[str, MakeScene] = {
    make.__name__: make
    for make in (
        add_line, rewrite_note, save_copy, save_unsaved, open_document, copy_text, close_window, rename_in_files,
        delete_in_files, make_folder, move_in_files, open_folder, calculate, type_in_terminal,
    )
}  # fmt: skip
