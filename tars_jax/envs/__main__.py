"""Lists every environment, what it is and whether it can be made here: `python -m tars_jax.envs [WORD]`."""

from __future__ import annotations

import argparse
import signal
import sys

from tars_jax import InputError
from tars_jax.envs.registration import IDS, environment_id, environment_names
from tars_jax.envs.registry import installed_environments
from tars_jax.tasks.library import load_playable

KINDS = {"": "game", "miniwob": "MiniWoB++", "lmgame": "LMGame-Bench"}
NEEDS = {  # of ours that are no pages
    "browsing": "Chromium for its pages",
    "computer": "root or bubblewrap",
    "corridor": "nothing",
    "phone": "adb, the extra phone",
    "website_app": "root or bubblewrap, a website (launch/websites.sh)",
}


def row(name: str) -> tuple[str, str, str]:
    """The id, the kind and what is needed of one environment."""
    collection, _, _ = name.rpartition("/")
    try:
        playable = load_playable(name)
    except InputError as error:
        return environment_id(name), KINDS[collection], str(error)
    size = "any size" if playable.page_size is None else "x".join(map(str, playable.page_size))
    return environment_id(name), KINDS[collection], f"Chromium, {size}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tars_jax.envs", description="Lists the environments TarsJax/...")
    parser.add_argument("words", nargs="*", metavar="WORD", help="of an id or a kind, as miniwob; all are to be in it")
    words = parser.parse_args(arguments).words
    rows = [row(name) for name in environment_names()]
    rows += [(id, "environment", NEEDS[name]) for name, id in IDS.items()]
    rows += [(environment_id(name), "environment of a package", "its package") for name in installed_environments()]
    shown = [each for each in rows if all(word.lower() in " ".join(each[:2]).lower() for word in words)]
    if not shown:
        print(
            f"No environment has {' and '.join(words)} in its id or kind; without a word all are listed.",
            file=sys.stderr,
        )
        return 2
    lines = [("id", "kind", "needs"), *shown]
    widths = [max(len(line[column]) for line in lines) for column in (0, 1)]
    for id, kind, needs in lines:
        print(f"{id:{widths[0]}}  {kind:{widths[1]}}  {needs}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader such as `head` may have enough
    sys.exit(main(sys.argv[1:]))
