"""stable-retro's emulator with a user's own ROM, in a process of its own.

Nobody may ship the ROM, and nothing of it is kept. Time stands still between two questions, and the emulator is
deterministic: the same buttons give the same pictures.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gzip
import hashlib
import importlib.util
import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.tasks.lmgame import emulator

_CRC = slice(8, 12)  # of a ROM, in a state that mGBA saved with it


@dataclasses.dataclass(frozen=True)
class Cartridge:
    """Names by which the emulator knows a game."""

    title: str
    integration: str  # stable-retro's name of it
    state: str  # where an episode begins
    suffix: str  # of its ROM's file
    header: int  # bytes of the file before what the SHA-1 is of


@dataclasses.dataclass(frozen=True)
class EmulatorFrame:
    """The screen after what was played."""

    pixels: np.ndarray  # [height, width, 3] uint8
    variables: Mapping[str, int]  # of the game; none at the beginning
    done: bool


def check_rom(game: Cartridge, rom: Any, folder: Path | None = None) -> tuple[Path, Path]:
    """The file of a ROM, and the folder of what the emulator knows of its game: `folder`, or stable-retro's own.

    Raises InputError where there is no such file, it is another's, or the emulator is not installed.
    """
    if not isinstance(rom, str) or not rom:
        raise InputError(
            f"rom must be the file of a ROM of {game.title} that you own, as nobody may ship one; got {rom!r}"
        )
    package = importlib.util.find_spec("stable_retro")
    if package is None or package.origin is None:
        raise InputError(f"{game.title} needs the emulator of stable-retro, which pip install 'tars_jax[retro]' brings")
    try:
        content = Path(rom).read_bytes()
    except OSError as error:
        raise InputError(f"rom: {rom} cannot be read: {error.strerror}") from None
    folder = folder or Path(package.origin).parent / f"data/stable/{game.integration}-v0"
    kind, known, found = _sums(game, folder, content)
    if Path(rom).suffix.lower() != game.suffix or found not in known:
        raise InputError(
            f"rom: {rom} must be a {game.suffix} file of {game.title} with the {kind} {' or '.join(known)}"
            f"{f' after {game.header} bytes' if game.header else ''}; got {found}"
        )
    return Path(rom), folder


def _sums(game: Cartridge, folder: Path, content: bytes) -> tuple[str, Sequence[str], str]:
    """Checksum kind of a ROM, the accepted checksums, and that of a file.

    Where a folder has no sums, its saved states say which ROM they are of: from another one the emulator takes them
    without a word, and plays something else.
    """
    sums = folder / "rom.sha"
    if sums.is_file():
        return "SHA-1", sums.read_text().split(), hashlib.sha1(content[game.header :]).hexdigest()
    path = folder / f"{game.state}.state"
    try:
        saved_with = gzip.decompress(path.read_bytes())[_CRC]
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} must be a state that the emulator saved: {error}") from None
    return "CRC-32 of its saved states,", [saved_with[::-1].hex()], f"{zlib.crc32(content):08x}"


class Emulator:
    """One game, over many episodes. Arguments and errors of the constructor as of `check_rom`."""

    def __init__(self, game: Cartridge, rom: Any, folder: Path | None = None) -> None:
        self._game = game
        self._rom, self._folder = check_rom(game, rom, folder)
        self._process: asyncio.subprocess.Process | None = None

    async def begin(self, state: str) -> EmulatorFrame:
        """Anew, from a saved state. Raises EnvironmentFailure where the emulator is gone."""
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, emulator.__file__, self._game.integration, str(self._folder), str(self._rom),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        return await self._ask({"state": state})

    async def play(self, frames: Sequence[Sequence[str]]) -> EmulatorFrame:
        """Plays frames with these buttons held in each. Raises EnvironmentFailure where the emulator is gone."""
        return await self._ask({"buttons": frames})

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _ask(self, wanted: Mapping[str, Any]) -> EmulatorFrame:
        process = self._process
        if process is None:
            raise EnvironmentFailure("emulator", f"the emulator of {self._game.title} is gone: it must begin anew")
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(wanted).encode() + b"\n")
            await process.stdin.drain()
            head = json.loads(await process.stdout.readline())
            height, width = head["size"]
            picture = await process.stdout.readexactly(height * width * 3)
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            await self.close()
            raise EnvironmentFailure("emulator", f"the emulator of {self._game.title} is gone: {error}") from None
        pixels = np.frombuffer(picture, np.uint8).reshape(height, width, 3)
        return EmulatorFrame(pixels, head["info"], head["done"])
