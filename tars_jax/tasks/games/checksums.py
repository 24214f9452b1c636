"""Rewrites the checksums in every game.json after a change of a page: `python -m tars_jax.tasks.games.checksums`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tars_jax.files import write_atomic
from tars_jax.tasks.games.catalog import GAMES_FOLDER, game_names, page_checksums, read_metadata


def rewrite(path: Path) -> bool:
    """Brings the checksums of one game.json up to date, leaving the rest of its text as it is. True if it changed."""
    read_metadata(path)
    text = path.read_text(encoding="utf-8")
    block = json.dumps(page_checksums(path.parent), indent=2).replace("\n", "\n  ")
    fresh = re.sub(r'"checksums": \{[^}]*\}', lambda _: f'"checksums": {block}', text)
    if fresh == text:
        return False
    write_atomic(path, fresh.encode())
    return True


def main() -> None:
    for name in game_names():
        print(f"{name}: {'rewritten' if rewrite(GAMES_FOLDER / name / 'game.json') else 'up to date'}")


if __name__ == "__main__":
    main()
