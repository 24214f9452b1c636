"""A game of our own for the Game Boy Advance, in the place of Ace Attorney, and a checkout of GamingAgent for it.

Its screen has one color, which each press of a button changes by that button's bit (A 1, B 2, RIGHT 16, UP 64, L 512).
L takes one of five lives, which lie where those of Ace Attorney do. No line of the game or of the benchmark is here.
"""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

from tars_jax.tasks.lmgame.ace_attorney import FOLDER, INTEGRATION, PARTS

_PROGRAM = (  # of an ARM processor
    0xE3A00301,  # mov r0, #0x04000000
    0xE3A01000,  # mov r1, #0
    0xE1C010B0,  # strh r1, [r0]           no layer is drawn: the screen has the first color of the palette
    0xE2800E13,  # add r0, r0, #0x130      the buttons
    0xE3A05405,  # mov r5, #0x05000000     the palette
    0xE3A04403,  # mov r4, #0x03000000
    0xE2844C37,  # add r4, r4, #0x3700
    0xE28440BF,  # add r4, r4, #0xBF       the lives
    0xE3A06005,  # mov r6, #5
    0xE5C46000,  # strb r6, [r4]
    0xE3A07000,  # mov r7, #0              the color
    0xE3A08000,  # mov r8, #0              the buttons that were held
    0xE1D010B0,  # again: ldrh r1, [r0]
    0xE1E01001,  # mvn r1, r1
    0xE1A01B01,  # lsl r1, r1, #22
    0xE1A01B21,  # lsr r1, r1, #22
    0xE1C13008,  # bic r3, r1, r8          those that are new
    0xE1A08001,  # mov r8, r1
    0xE0877003,  # add r7, r7, r3
    0xE1C570B0,  # strh r7, [r5]
    0xE3130C02,  # tst r3, #0x200          L
    0x12466001,  # subne r6, r6, #1
    0xE5C46000,  # strb r6, [r4]
    0xEAFFFFF3,  # b again
)
_START = 0xC0  # of the program, which the first word jumps to
_HEAD = struct.pack("<I156x12s4s2xB", 0xEA00002E, b"TARS_JAX_OWN", b"TJAX", 0x96)
ROM = _HEAD.ljust(_START, b"\0") + struct.pack(f"<{len(_PROGRAM)}I", *_PROGRAM)

_SAVING = """
import gzip, sys
from pathlib import Path
import stable_retro as retro
folder = Path(sys.argv[1])
retro.data.Integrations.add_custom_path(str(folder.parent))
played = retro.make(
    folder.name, retro.State.NONE, inttype=retro.data.Integrations.CUSTOM_ONLY, render_mode="rgb_array",
    use_restricted_actions=retro.Actions.ALL,
)
played.reset()
for name in sys.argv[2:]:
    for held in ("", "", "UP", ""):
        played.step([button == held for button in played.buttons])
    Path(folder, f"{name}.state").write_bytes(gzip.compress(played.em.get_state()))
"""


def write_checkout(folder: Path, *, emulator: bool) -> Path:
    """A checkout whose part number n begins with the color 64 n. `emulator`: stable-retro saves its states, which the
    stub of it has in a form of its own."""
    known, assets = folder / FOLDER / INTEGRATION, folder / FOLDER / "assets"
    known.mkdir(parents=True)
    assets.mkdir()
    lives = {"lives": {"address": 0x030037BF, "type": "|u1"}}
    files = {"data": {"info": lives}, "metadata": {}, "scenario": {"done": {"variables": {"lives": {"op": "equal"}}}}}
    for name, content in files.items():
        (known / f"{name}.json").write_text(json.dumps(content))
    if emulator:
        (known / "rom.gba").write_bytes(ROM)
        subprocess.run([sys.executable, "-c", _SAVING, str(known), *PARTS], check=True, timeout=120)
    else:
        for number, name in enumerate(PARTS, 1):
            saved = struct.pack("<8xIHB", zlib.crc32(ROM), 64 * number, 5)
            (known / f"{name}.state").write_bytes(gzip.compress(saved))
    write_lines(folder)
    return folder


def write_lines(folder: Path) -> None:
    endings = {name: {"end_statement": [f"Ann: Part {number} is over!"]} for number, name in enumerate(PARTS, 1)}
    texts = {
        name: {
            "background_transcript": [f"Ann: Part {number} begins.", "(It rains.)"],
            "name_mappings": {"ann": "Eve"},
            "evidences": ["A KEY: It fits no lock."],
            "evidence_mappings": {"A KEY": "Old Key"},
            "dialog": {"Bob: It was green.": "Sam: It was blue."},
        }
        for number, name in enumerate(PARTS, 1)
    }
    for name, table in (("skip_conversations", endings), ("mapping", texts)):
        (folder / FOLDER / f"assets/{name}.json").write_text(json.dumps(table))
