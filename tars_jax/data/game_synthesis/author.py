"""An author behind an OpenAI-compatible endpoint: it is shown the form and an example, and hears what was wrong."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Protocol

from tars_jax import GaveUp, InputError
from tars_jax.data.game_synthesis.source import METADATA_SCHEMA, SCRIPTS, GameSource, check_source
from tars_jax.data.game_synthesis.templates import FOLDER, TemplateAuthor
from tars_jax.inference.chat_template import Message
from tars_jax.inference.client import open_client
from tars_jax.inference.policy_client import Declined
from tars_jax.inference.sampling import Sampling
from tars_jax.tasks.games.catalog import GAMES_FOLDER, game_names

_FENCE = re.compile(r"^```[a-z]*[ \t]+(\S+)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


class Author(Protocol):
    """An author of games."""

    def write(self, number: int, complaints: Sequence[str]) -> GameSource:
        """Game `number`; `complaints` say why the last attempt at it was turned down.

        Raises `InputError` for an answer that holds no game; of a model behind an address, PolicyUnavailable where it
        does not answer, Declined where it takes no more of this game, GaveUp where it would answer nothing at all.
        """
        ...


class ModelAuthor:
    """Asks a model. Its answer is one fenced block for each file, the file's name after the opening fence."""

    def __init__(self, address: str, model: str, api_key: str = "", max_tokens: int = 12_000) -> None:
        self._address, self._model, self._api_key, self._max_tokens = address, model, api_key, max_tokens
        self._last: dict[int, str] = {}

    def write(self, number: int, complaints: Sequence[str] = ()) -> GameSource:
        messages = [Message("system", (form(),)), Message("user", (f"Write game number {number}.",))]
        if complaints and number in self._last:
            said = "\n".join(f"- {complaint}" for complaint in complaints)
            messages.append(Message("assistant", (self._last[number],)))
            messages.append(Message("user", (f"It was turned down:\n{said}\nGive all files again, mended.",)))
        try:
            self._last[number] = answer = asyncio.run(self._ask(messages))
        except Declined:
            raise
        except InputError as error:  # a key, a model or a field that it does not take: no author's to mend
            raise GaveUp(f"The author at {self._address} refuses to write: {error}.") from error
        return read_answer(answer)

    async def _ask(self, messages: Sequence[Message]) -> str:
        async with open_client(self._address, model=self._model, api_key=self._api_key, patience=600.0) as client:
            return (await client.chat(messages, Sampling(max_new_tokens=self._max_tokens))).text


def read_answer(text: str) -> GameSource:
    """The game in a model's answer. Raises `InputError` that says what is missing."""
    files = {name: body for name, body in _FENCE.findall(text.replace("\r\n", "\n"))}
    try:
        metadata = json.loads(files.pop("metadata.json", "null"))
    except (ValueError, RecursionError) as error:  # no JSON, or numbers and nesting beyond what Python reads
        raise InputError(f"metadata.json is not JSON: {error}") from None
    if not isinstance(metadata, dict):
        raise InputError("the answer has no block ```json metadata.json with an object")
    source = GameSource(metadata, files)
    check_source(source)
    return source


def form() -> str:
    """Prompt for a model that writes games: the form of a game, the kit, and one game that was admitted."""
    example = TemplateAuthor(0).write(0)
    blocks = [("json metadata.json", json.dumps(dict(example.metadata), indent=2))]
    blocks += [(f"js {name}", text) for name, text in example.scripts.items()]
    shown = "\n\n".join(f"```{head}\n{body.rstrip()}\n```" for head, body in blocks)
    kit = "\n\n".join(
        f"// kit/{name}\n{(GAMES_FOLDER / 'kit' / name).read_text(encoding='utf-8')}"
        for name in ("random.js", "stage.js")
    )
    known = ", ".join([*game_names(), *sorted(path.name for path in FOLDER.iterdir() if path.is_dir())])
    return (
        "You write small browser games on which an agent that sees only screenshots is trained. Invent a mechanic that "
        f"is none of these: {known}.\n\nAnswer with one fenced block a file, as in the example below: metadata.json "
        f"under this schema\n{json.dumps(METADATA_SCHEMA)}\nand {', '.join(SCRIPTS)}, and further scripts, which are "
        "loaded before these.\n\nRules. `game.start({seed, level})` begins an episode from these two alone; "
        "`game.state()` returns a copy with score, level, lives, done, success and the geometry of the stage; "
        "`window.verify()` works these five out from the state. The score is 0 at first and never falls. Every level "
        "can be won within max_steps by the moves of `window.reference(state)`, which needs no memory; random moves "
        "must not win the third level. Randomness is Kit.random of the seed; no network, no Math.random, no Date. "
        "On a stage in compact mode (96 x 96 pixels) everything that matters is visible. After the end nothing moves."
        f"\n\nThe kit:\n\n{kit}\n\nAn example that was admitted:\n\n{shown}"
    )
