"""A game as its author wrote it, and how it becomes a folder in the form of ours."""

from __future__ import annotations

import dataclasses
import html
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema

from tars_jax import InputError
from tars_jax.files import write_atomic
from tars_jax.tasks.games.catalog import GAMES_FOLDER, page_checksums

SCRIPTS = ("game.js", "verify.js", "reference.js")  # what every game has; the page loads them last, in this order
MAX_BYTES = 200_000  # of all scripts together
KIT = ("seal.js", "random.js", "stage.js", "lettering.js", "digits.js", "hud.js")
GUARD, HINTS = "guard.js", "hints.js"  # ours, loaded before all others and after them

# The sandbox lets nothing out; this lets nobody try unseen. Addresses of files, data and blobs are not the network.
POLICY = "default-src 'self' file: data: blob: 'unsafe-inline' 'unsafe-eval'; worker-src 'none'; webrtc 'block'"
_GUARD = """(() => {
  const tried = [];
  window.addEventListener("securitypolicyviolation", (event) => {
    tried.push(`${event.blockedURI} (${event.effectiveDirective})`);
  }, true);
  window.navigation?.addEventListener("navigate", (event) => {
    if (new URL(event.destination.url).host === location.host) return;
    event.preventDefault();
    tried.push(`${event.destination.url} (navigation)`);
  });
  Object.defineProperty(window, "tried", { value: tried });
})();"""

# The reference player's moves stand in the state, where `tars_jax.tasks.games.page_player` finds them. What a page
# hands out is a copy: a change of it changes no game.
_HINTS = """(() => {
  const state = game.state;
  game.state = () => {
    const found = structuredClone(state());
    if (window.tried.length) found["tried to reach"] = window.tried.slice(0, 5);
    return { ...found, reference: window.reference(structuredClone(found)) };
  };
  window.game = game;
  Kit.playByHand();
})();"""

METADATA_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "title", "instruction", "levels"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z][a-z0-9_]{2,40}$", "not": {"const": "kit"}},
        "title": {"type": "string", "minLength": 1, "maxLength": 60},
        "instruction": {"type": "string", "minLength": 1, "maxLength": 300},
        "settle_ms": {"type": "integer", "minimum": 0, "maximum": 2000},
        "levels": {
            "type": "array",
            "minItems": 1,
            "maxItems": 20,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["summary", "max_steps"],
                "properties": {
                    "summary": {"type": "string"},
                    "max_steps": {"type": "integer", "minimum": 1, "maximum": 2000},
                },
            },
        },
    },
}


@dataclasses.dataclass(frozen=True)
class GameSource:
    """Source of a game, as an author writes it. `metadata` follows METADATA_SCHEMA; `scripts` are JavaScript by file
    name, in the order in which the page loads them before SCRIPTS, and SCRIPTS themselves."""

    metadata: Mapping[str, Any]
    scripts: Mapping[str, str]

    @property
    def name(self) -> str:
        return str(self.metadata["name"])


def check_source(source: GameSource) -> None:
    """Raises `InputError` that names the field or the file which no game can have."""
    try:
        jsonschema.validate(dict(source.metadata), METADATA_SCHEMA)
    except jsonschema.ValidationError as error:
        raise InputError(f"metadata: field {error.json_path}: {error.message}") from None
    for name in SCRIPTS:
        if not source.scripts.get(name, "").strip():
            raise InputError(f"the scripts must be {', '.join(SCRIPTS)}, none of them empty; got no {name}")
    for name in source.scripts:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}\.js", name) or name in (GUARD, HINTS):
            raise InputError(f"a script's name must be one like rules.js; got {name!r}")
    try:
        json.dumps(dict(source.metadata), ensure_ascii=False).encode()
        size = sum(len(text.encode()) for text in source.scripts.values())
    except UnicodeEncodeError as error:
        raise InputError(f"it holds half a character, which no file can: {error}") from None
    if size > MAX_BYTES:
        raise InputError(f"the scripts must be at most {MAX_BYTES} bytes; got {size}")


def write_game(source: GameSource, games: Path) -> Path:
    """Writes `games`/NAME with its page and metadata, and beside it the kit; returns the folder.

    Raises `InputError` for a source that is none, or a name that is taken.
    """
    check_source(source)
    folder = games / source.name
    if (folder / "game.json").exists():
        raise InputError(f"a game's name must be new; got {folder.name!r}, and {folder} exists")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(GAMES_FOLDER / "kit", games / "kit", dirs_exist_ok=True)
    for name, text in source.scripts.items():
        write_atomic(folder / name, text.encode())
    write_atomic(folder / GUARD, _GUARD.encode())
    write_atomic(folder / HINTS, _HINTS.encode())
    write_atomic(folder / "index.html", _page(source).encode())
    levels = [{"level": number, **level} for number, level in enumerate(source.metadata["levels"], start=1)]
    record = {
        "name": source.name,
        "title": source.metadata["title"],
        "version": "1.0.0",
        "instruction": source.metadata["instruction"],
        "index": f"{source.name}/index.html",
        "single_canvas": True,
        "settle_ms": source.metadata.get("settle_ms", 120),
        "max_steps": levels[0]["max_steps"],
        "levels": levels,
        "options": {"level": {"type": "integer", "minimum": 1, "description": "difficulty"}},
        "picture": {"options": {"seed": 1, "level": min(3, len(levels))}, "moves": 1},
        "checksums": page_checksums(folder),
    }
    write_atomic(folder / "game.json", json.dumps(record, indent=2).encode())
    return folder


def _page(source: GameSource) -> str:
    own = [name for name in source.scripts if name not in SCRIPTS]
    loaded = [GUARD, *(f"../kit/{name}" for name in KIT), *own, *SCRIPTS, HINTS]
    scripts = "\n".join(f'  <script src="{name}"></script>' for name in loaded)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n  <meta charset="utf-8">\n'
        f'  <meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"  <title>{html.escape(source.metadata['title'])}</title>\n"
        '  <link rel="icon" href="data:,">\n  <link rel="stylesheet" href="../kit/page.css">\n'
        f"</head>\n<body>\n{scripts}\n</body>\n</html>\n"
    )
