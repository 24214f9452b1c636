"""Tasks for a terminal: files are found, moved, counted, changed and packed."""

from __future__ import annotations

import gzip
import io
import json
import random
import shlex
import tarfile
import zlib

from tars_jax.sandbox.computer.home import File
from tars_jax.tasks.computer.scene import (
    COLORS,
    FOLDERS,
    FRUITS,
    NAMES,
    ComputerScene,
    MakeScene,
    SceneOutcome,
    expect,
    in_trash,
    pick,
    same_text,
    sentence,
)

_LARGEST_ARCHIVE = 1 << 20  # bytes, unpacked


def _file(text: str, *, executable: bool = False) -> File:
    return File(text.encode(), executable)


def _notes(rng: random.Random, count: int) -> dict[str, File]:
    return {f"{color}.txt": _file(sentence(rng, FRUITS, 6) + "\n") for color in pick(rng, COLORS, count)}


def move_file(rng: random.Random, level: int) -> ComputerScene:
    """A file that is named goes into a folder that is named."""
    files, folders = _notes(rng, 2 + level), pick(rng, FOLDERS, 2)
    name, folder = rng.choice(list(files)), rng.choice(folders)
    moved = {(f"{folder}/{path}" if path == name else path): file for path, file in files.items()}
    return ComputerScene(
        f"Move {name} into {folder}.",
        files,
        lambda seen: expect(seen, moved),
        (f"mv {name} {folder}",),
        tuple(folders),
    )


def find_word(rng: random.Random, level: int) -> ComputerScene:
    """The one file that says a word goes into a folder: it has to be looked for."""
    colors, folders, fruits = pick(rng, COLORS, 2 + level), pick(rng, FOLDERS, 2), pick(rng, FRUITS, 2 + level)
    files = {f"{color}.txt": _file(f"{fruit}\n") for color, fruit in zip(colors, fruits, strict=True)}
    chosen, folder = rng.randrange(len(colors)), rng.choice(folders)
    name, word = f"{colors[chosen]}.txt", fruits[chosen]
    moved = {(f"{folder}/{path}" if path == name else path): file for path, file in files.items()}
    return ComputerScene(
        f"Move the file that says {word} into {folder}.",
        files,
        lambda seen: expect(seen, moved),
        (f"grep -l {word} *.txt", f"mv {name} {folder}"),
        tuple(folders),
    )


def count_lines(rng: random.Random, level: int) -> ComputerScene:
    """The number of lines that have a word, over all files."""
    word, *others = pick(rng, FRUITS, 5)
    texts = [[rng.choice([word, *others]) for _ in range(rng.randint(4, 8 * level))] for _ in range(1 + level)]
    files = {f"list{number}.txt": _file("\n".join(lines) + "\n") for number, lines in enumerate(texts, 1)}
    total = str(sum(lines.count(word) for lines in texts))

    def goal(seen: SceneOutcome) -> str:
        if seen.answer is None or seen.answer.strip().rstrip(".") != total:
            return f"the answer is not {total}"
        return expect(seen, files)

    question = f"How many lines in all files say {word}? Answer with the number."
    return ComputerScene(question, files, goal, (f"cat list*.txt | grep -cx {word}",), answer=total)


def rename_endings(rng: random.Random, level: int) -> ComputerScene:
    """Notes get another ending, and nothing else does."""
    files = {**_notes(rng, 2 + level), "todo.log": _file("later\n"), "txt": _file("no ending\n")}
    renamed = {(f"{path[:-4]}.md" if path.endswith(".txt") else path): file for path, file in files.items()}
    command = 'for f in *.txt; do mv "$f" "${f%.txt}.md"; done'
    return ComputerScene(
        "Give every .txt file the ending .md instead.", files, lambda seen: expect(seen, renamed), (command,)
    )


def delete_empty(rng: random.Random, level: int) -> ComputerScene:
    """Empty files go, in all folders; what is nearly empty stays."""
    folders = pick(rng, FOLDERS, 1 + level)
    kept: dict[str, File] = {"blank.txt": _file("\n"), "keep me.txt": _file("x")}
    empty: dict[str, File] = {}
    for folder in folders:
        for color in pick(rng, COLORS, 3):
            (empty if rng.random() < 0.5 else kept)[f"{folder}/{color}.txt"] = _file("")
    kept = {path: file if file.data else _file("full\n") for path, file in kept.items()}
    empty.setdefault(f"{folders[0]}/never.txt", _file(""))
    return ComputerScene(
        "Delete all empty files in this folder and the folders below it, and nothing else.",
        {**kept, **empty},
        lambda seen: expect(seen, kept, ignoring=in_trash),
        ("find . -type f -empty -delete",),
        deletes=tuple(empty),
    )


def sum_column(rng: random.Random, level: int) -> ComputerScene:
    """The sum of a column of a table, into a file."""
    rows = [(rng.choice(FRUITS), rng.randint(1, 20), rng.randint(1, 99)) for _ in range(4 * level)]
    table = "fruit,count,price\n" + "".join(f"{fruit},{count},{price}\n" for fruit, count, price in rows)
    column, name = rng.choice(((1, "count"), (2, "price")))
    total, files = str(sum(int(row[column]) for row in rows)), {"sales.csv": _file(table)}

    def goal(seen: SceneOutcome) -> str:
        if not same_text(seen.files.get("total.txt"), total):
            return f"total.txt does not say {total}"
        return expect(seen, files, ignoring=lambda path: path == "total.txt")

    command = f"awk -F, 'NR > 1 {{ sum += ${column + 1} }} END {{ print sum }}' sales.csv > total.txt"
    return ComputerScene(f"Write the sum of the column {name} of sales.csv to total.txt.", files, goal, (command,))


def merge_lists(rng: random.Random, level: int) -> ComputerScene:
    """Several lists become one: sorted, each word once."""
    lists = [pick(rng, FRUITS, rng.randint(3, 6)) for _ in range(1 + level)]
    files = {f"list{number}.txt": _file("\n".join(words) + "\n") for number, words in enumerate(lists, 1)}
    merged = "\n".join(sorted({word for words in lists for word in words}))

    def goal(seen: SceneOutcome) -> str:
        if not same_text(seen.files.get("all.txt"), merged):
            return "all.txt is not the sorted list"
        return expect(seen, files, ignoring=lambda path: path == "all.txt")

    instruction = "Write all words of the lists to all.txt, one a line, sorted by the alphabet, each word once."
    return ComputerScene(instruction, files, goal, ("sort -u list*.txt > all.txt",))


def replace_word(rng: random.Random, level: int) -> ComputerScene:
    """A word becomes another in every file; longer words that begin so stay."""
    old, new = pick(rng, FRUITS, 2)
    files = {
        f"{color}.txt": _file(f"{sentence(rng, (old, 'and', f'{old}tree'), 4 + level)} {old}\n")
        for color in pick(rng, COLORS, 1 + level)
    }
    changed = {
        path: _file(" ".join(new if word == old else word for word in file.text.split()) + "\n")
        for path, file in files.items()
    }
    return ComputerScene(
        f"Replace the word {old} by {new} in all files. Longer words that begin with it stay as they are.",
        files,
        lambda seen: expect(seen, changed),
        (rf"sed -i 's/\b{old}\b/{new}/g' *.txt",),
    )


def pack_folder(rng: random.Random, level: int) -> ComputerScene:
    """A folder becomes an archive, and stays."""
    folder = rng.choice(FOLDERS)
    files = {f"{folder}/{path}": file for path, file in _notes(rng, 1 + level).items()}

    def goal(seen: SceneOutcome) -> str:
        archive = seen.files.get(f"{folder}.tar.gz")
        if archive is None:
            return f"{folder}.tar.gz is missing"
        if (packed := _unpacked(archive.data)) is None:
            return f"{folder}.tar.gz is no such archive"
        if packed != {path: file.data for path, file in files.items()}:
            return f"{folder}.tar.gz does not hold the folder"
        return expect(seen, files, ignoring=lambda path: path == f"{folder}.tar.gz")

    command = f"tar czf {folder}.tar.gz {folder}"
    return ComputerScene(f"Pack the folder {folder} into {folder}.tar.gz.", files, goal, (command,))


def _unpacked(data: bytes) -> dict[str, bytes] | None:
    """The regular files of a gzipped tar; None for anything else, and for one that unpacks to more than fits."""
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(_LARGEST_ARCHIVE + 1)
        if len(unpacked) > _LARGEST_ARCHIVE:
            return None
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as archive:
            members = [member for member in archive.getmembers() if member.isfile()]
            opened = ((member.name.removeprefix("./"), archive.extractfile(member)) for member in members)
            return {name: file.read() for name, file in opened if file is not None}
    except (tarfile.TarError, zlib.error, OSError, EOFError):
        return None


def run_script(rng: random.Random, level: int) -> ComputerScene:
    """A script is made executable, and what it says is kept."""
    words = [rng.choice(FRUITS) for _ in range(1 + level)]
    said = " ".join(f"{word}{rng.randint(10, 99)}" for word in words)
    files = {"say.sh": _file(f"#!/bin/sh\necho {said}\n"), "README": _file("Run say.sh.\n")}

    def goal(seen: SceneOutcome) -> str:
        script = seen.files.get("say.sh")
        if script is None or not script.executable:
            return "say.sh is not executable"
        if not same_text(seen.files.get("said.txt"), said):
            return "said.txt does not hold what say.sh says"
        return expect(seen, files, ignoring=lambda path: path == "said.txt")

    instruction = "Make say.sh executable, run it, and write what it says to said.txt."
    return ComputerScene(instruction, files, goal, ("chmod +x say.sh", "./say.sh > said.txt"))


def largest_file(rng: random.Random, level: int) -> ComputerScene:
    """The largest file is named, also in folders and with spaces in its name."""
    sizes = rng.sample(range(100, 4000), 3 + level)
    names = [*NAMES][: 1 + level] + pick(rng, COLORS, 2)
    folder = rng.choice(FOLDERS)
    paths = [f"{folder}/{name}.dat" if rng.random() < 0.5 else f"{name}.dat" for name in names]
    files = {path: File(bytes(rng.choices(range(256), k=size))) for path, size in zip(paths, sizes, strict=True)}
    largest = max(files, key=lambda path: len(files[path].data))

    def goal(seen: SceneOutcome) -> str:
        said = (seen.answer or "").strip().strip("'\"`").removeprefix("./")
        if said not in (largest, largest.rpartition("/")[2]):
            return f"the answer is not {largest}"
        return expect(seen, files)

    command = r"find . -type f -printf '%s %P\n' | sort -n | tail -n 1"
    return ComputerScene("Which file is the largest? Answer with its name.", files, goal, (command,), answer=largest)


def change_setting(rng: random.Random, level: int) -> ComputerScene:
    """One value of a file of settings changes, and no other."""
    settings = {color: rng.randint(1, 50) for color in pick(rng, COLORS, 2 + level)}
    nested = {"size": dict(settings), "name": rng.choice(NAMES)}
    key, value = rng.choice(list(settings)), rng.randint(51, 99)
    changed = {**nested, "size": {**settings, key: value}}

    def goal(seen: SceneOutcome) -> str:
        try:
            found = json.loads(seen.files["settings.json"].data)
        except (KeyError, ValueError, RecursionError):
            return "settings.json is no JSON"
        if found != changed:
            return "settings.json does not hold what it should"
        return expect(seen, {}, ignoring=lambda path: path == "settings.json")

    code = (
        "import json; s = json.load(open('settings.json')); "
        f"s['size']['{key}'] = {value}; json.dump(s, open('settings.json', 'w'))"
    )
    return ComputerScene(
        f"Set the size {key} to {value} in settings.json, and leave everything else as it is.",
        {"settings.json": _file(json.dumps(nested, indent=2, ensure_ascii=False) + "\n")},
        goal,
        (f"python3 -c {shlex.quote(code)}",),
    )


def sort_by_ending(rng: random.Random, level: int) -> ComputerScene:
    """Files go into folders that are called as their endings."""
    endings = ("txt", "csv", "log", "md")[: 1 + level]
    files = {f"{color}.{rng.choice(endings)}": _file(f"{color}\n") for color in pick(rng, COLORS, 3 + level)}
    sorted_ = {f"{path.rpartition('.')[2]}/{path}": file for path, file in files.items()}
    command = 'for f in *.*; do mkdir -p "${f##*.}" && mv "$f" "${f##*.}/"; done'
    instruction = "Move every file into a folder that is called as its ending, such as txt for a.txt."
    return ComputerScene(instruction, files, lambda seen: expect(seen, sorted_), (command,))


def remove_copies(rng: random.Random, level: int) -> ComputerScene:
    """Of files that hold the same, the first by name stays."""
    texts = [sentence(rng, FRUITS, 4) + f" {number}\n" for number in range(1 + level)]
    names = sorted(pick(rng, COLORS, 2 + 2 * min(level, 3)))
    files = {f"{name}.txt": _file(texts[index % len(texts)]) for index, name in enumerate(names)}
    kept: dict[str, File] = {}
    for path in sorted(files):
        if files[path] not in kept.values():
            kept[path] = files[path]
    command = "md5sum *.txt | sort -k 2 | awk 'seen[$1]++ { print $2 }' | xargs -r rm"
    instruction = (
        "Where files hold the same, keep the one whose name comes first in the alphabet and delete the others."
    )
    goal = lambda seen: expect(seen, kept, ignoring=in_trash)  # noqa: E731
    return ComputerScene(
        instruction, files, goal, (command,), deletes=tuple(path for path in files if path not in kept)
    )


TERMINAL_TASKS: dict[str, MakeScene] = {
    make.__name__: make
    for make in (
        move_file, find_word, count_lines, rename_endings, delete_empty, sum_column, merge_lists, replace_word,
        pack_folder, run_script, largest_file, change_setting, sort_by_ending, remove_copies,
    )
}  # fmt: skip
