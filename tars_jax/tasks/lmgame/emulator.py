"""The program of one emulator, which a process can have only one of: `python emulator.py GAME FOLDER ROM`.

FOLDER holds what stable-retro knows of the game: where its variables lie, when it is over, its saved states. It reads
a JSON object a line, {"state": NAME}, which begins anew from that state, or {"buttons": [[names], ...]}, the buttons
that are held in each frame, and answers with a line {"info": the game's variables, none of them at the beginning,
"done": whether it is over, "size": [height, width]} and the picture's bytes, RGB.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO


def answers(game: str, known: str, rom: str, asked: BinaryIO, told: BinaryIO) -> None:
    retro: Any = importlib.import_module("stable_retro")
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / f"{game}-v0"  # the folder stays as it is: a ROM is its owner's
        shutil.copytree(known, own, ignore=shutil.ignore_patterns("rom.[!s]*"))
        shutil.copyfile(rom, own / f"rom{Path(rom).suffix.lower()}")
        retro.data.Integrations.add_custom_path(folder)
        custom = retro.data.Integrations.CUSTOM_ONLY
        played: Any = retro.make(
            f"{game}-v0", retro.State.NONE, inttype=custom, render_mode="rgb_array",
            use_restricted_actions=retro.Actions.ALL,
        )  # fmt: skip
        for line in asked:
            wanted = json.loads(line)
            if "state" in wanted:
                played.load_state(wanted["state"], custom)
                picture, info = played.reset()
                done = False
            for held in wanted.get("buttons", ()):
                pressed = [button in held for button in played.buttons]
                picture, _, done, _, info = played.step(pressed)
                if done:
                    break
            variables = {name: int(value) for name, value in info.items()}
            head = {"info": variables, "done": bool(done), "size": list(picture.shape[:2])}
            told.write(json.dumps(head).encode() + b"\n" + picture.tobytes())
            told.flush()


if __name__ == "__main__":
    to_parent = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the emulator prints is no answer
    game, known, rom = sys.argv[1:]
    answers(game, known, rom, sys.stdin.buffer, to_parent)
