"""Tunix's side of `decode_tokens.py`: its own sampler, `tunix.generate.sampler.Sampler`, of google-tunix 0.1.7.

Its cache holds as many tokens as are asked for. Prompts are tokens already; what the sampler calls text stands for
their number.
"""

from __future__ import annotations

import numpy as np
from tunix.generate.sampler import CacheConfig, Sampler

from tests.benchmarks.peers.decoding import Answers, Turns
from tests.benchmarks.peers.setting import Decoding, Shape, prompts
from tests.benchmarks.peers.tunix_update import models
from tests.benchmarks.peers.turns import serve

NEVER = -1  # end and padding: no token is either, so every answer takes its whole budget


class Numbered:
    """A tokenizer whose texts are the numbers of prompts."""

    def __init__(self, given: Decoding) -> None:
        self._prompts = prompts(given)

    def encode(self, text: str) -> list[int]:
        return self._prompts[int(text)].tolist()

    def decode(self, ids: list[int]) -> str:
        return ""

    def bos_id(self) -> int:
        return 0  # none is put in front

    def eos_id(self) -> int:
        return NEVER

    def pad_id(self) -> int:
        return NEVER


class Side:
    """The sampler and its prompts."""

    def __init__(self) -> None:
        shape, self._given = Shape(), Decoding()
        cache = CacheConfig(self._given.length, shape.depth, shape.kv_heads, shape.head_dim)
        self._sampler = Sampler(models(shape)[0], Numbered(self._given), cache)

    def answer(self, tokens: int, *, greedy: bool, seed: int) -> Answers:
        """All prompts in one batch; log-probabilities only where it is greedy."""
        output = self._sampler(
            [str(number) for number in range(self._given.batch)],
            max_generation_steps=tokens,
            max_prompt_length=self._given.prompt,
            return_logprobs=greedy,
            temperature=1.0,
            top_p=None if greedy else 1.0,
            seed=seed,
        )
        return Answers(np.array(output.tokens), np.array(output.logprobs) if greedy else None)


def main() -> None:
    serve(Turns(Side().answer))


if __name__ == "__main__":
    main()
