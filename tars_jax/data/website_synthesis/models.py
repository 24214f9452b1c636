"""Models behind an OpenAI-compatible endpoint that help: one that sees pages, one that finds other words."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tars_jax import GaveUp, InputError
from tars_jax.data.website_synthesis.functions import SiteFunction
from tars_jax.environment import Observation
from tars_jax.inference.chat_template import Message, Part
from tars_jax.inference.client import open_client
from tars_jax.inference.policy_client import Declined, PolicyUnavailable
from tars_jax.inference.sampling import Sampling

REWRITE = (
    "Rewrite the instruction for a user of a website, so that it reads naturally, asks for exactly the same, and is "
    "clear, objective and verifiable. Keep every text in double quotation marks as it is, with its marks, and "
    "add no others. Answer with the instruction alone."
)
SELECT = (
    "You see a page of a website and a numbered list of what can be done there. Which are core functions of the site, "
    "worth a task that changes something? Leave out what is trivial, what only changes the view, and what you cannot "
    "see on the page. Answer with a JSON list of their numbers alone."
)


MOST_SILENT = 3  # times in a row


class Extractor(Protocol):
    """Says which functions of a page are worth a task."""

    def select(self, screenshot: bytes, functions: Sequence[SiteFunction]) -> list[int]:
        """Indices of the functions to keep. An answer that cannot be read, or none, selects all: a model may help, not
        stop the work."""
        ...


class ModelHelper:
    """A helper that is a Rewriter and an Extractor. Raises GaveUp where the endpoint refuses a key, a model or a field.

    One that was silent for `answer_s` seconds three times in a row is asked no more: the work goes on without it.
    """

    def __init__(
        self, address: str, model: str, api_key: str = "", max_tokens: int = 600, answer_s: float = 60.0
    ) -> None:
        self._address, self._model, self._api_key, self._max_tokens = address, model, api_key, max_tokens
        self._answer_s = answer_s
        self._silent = 0

    def rewrite(self, instruction: str) -> str:
        """The model's wording; empty where it did not answer."""
        return self._ask([Message("system", (REWRITE,)), Message("user", (instruction,))]).strip().strip("`")

    def select(self, screenshot: bytes, functions: Sequence[SiteFunction]) -> list[int]:
        fields = [", ".join(field.label for field in each.fields) or "no fields" for each in functions]
        listed = "\n".join(
            f"{number}. {each.category}: {each.button!r} with {fields[number]}" for number, each in enumerate(functions)
        )
        parts: list[Part] = [listed]
        if (pixels := Observation(screenshot).pixels) is not None:
            parts.append(np.asarray(pixels))
        answer = self._ask([Message("system", (SELECT,)), Message("user", tuple(parts))])
        return read_numbers(answer, len(functions))

    def _ask(self, messages: Sequence[Message]) -> str:
        if self._silent >= MOST_SILENT:
            return ""
        try:
            answer = asyncio.run(self._asked(messages))
        except Declined:
            return ""
        except (PolicyUnavailable, TimeoutError):
            self._silent += 1
            return ""
        except InputError as error:
            raise GaveUp(f"The model at {self._address} refuses to help: {error}.") from error
        self._silent = 0
        return answer

    async def _asked(self, messages: Sequence[Message]) -> str:
        patience = self._answer_s
        async with (
            asyncio.timeout(patience),
            open_client(self._address, model=self._model, api_key=self._api_key, patience=patience) as client,
        ):
            return (await client.chat(messages, Sampling(max_new_tokens=self._max_tokens))).text


def read_numbers(answer: str, count: int) -> list[int]:
    """The numbers below `count` of the last JSON list in an answer; all of them where there is no list."""
    found = re.findall(r"\[[\d\s,]*\]", answer)
    if not found:
        return list(range(count))
    try:
        return sorted({number for number in json.loads(found[-1]) if 0 <= number < count})
    except ValueError:
        return list(range(count))
