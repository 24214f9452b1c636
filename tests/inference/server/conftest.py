"""A policy server with a model that is small enough for every test, and an answer that is as long as one likes."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
import pytest

from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.data_urls import encode_image, exact
from tars_jax.inference.engine import Engine
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.training.checkpoint import load_parameters

SPECIAL = ("<|pad|>", "<|user|>", "<|agent|>", "<|end|>", "<|vision_start|>", "<|image|>", "<|vision_end|>")
LETTERS = "abcdefghijklmnopqrstuvw \n"


class Letters:
    """A tokenizer with one token for each special token and letter; other characters are not written."""

    def encode(self, text: str) -> list[int]:
        tokens = []
        while text:
            special = next((token for token in SPECIAL if text.startswith(token)), None)
            if special is not None:
                tokens.append(SPECIAL.index(special))
            elif text[0] in LETTERS:
                tokens.append(len(SPECIAL) + LETTERS.index(text[0]))
            text = text[len(special or " ") :]
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join([*SPECIAL, *LETTERS][token] for token in tokens)

    def spell(self, token: int) -> bytes:
        return self.decode([token]).encode()


CODEC = Letters()
IMAGE = SPECIAL.index("<|image|>")
ENGINE = EngineConfig(
    slots=3,
    max_length=4096,
    max_new_tokens=8,
    chunk=4,
    row_buckets=(3,),
    length_buckets=(48,),
    image_buckets=(2,),
    max_sessions=12,
    max_queue=8,
    top_logprobs=4,
    penalties=True,
    biases=8,
)
SERVER = ServerConfig(port=0, max_body_megabytes=1, lease_seconds=600, body_seconds=30, request_seconds=600)


@pytest.fixture(scope="session")
def turns() -> TurnFormat:
    return TurnFormat(CODEC, lambda height, width: (height // 8) * (width // 8))


@pytest.fixture(scope="session")
def engine(tiny_model: ModelConfig, tiny_parameters: Parameters) -> Iterator[Engine]:
    """No answer ends before its budget: the stop token is one that is never written."""
    with Engine(tiny_model, tiny_parameters, ENGINE, image=IMAGE, stop=IMAGE, seed=0) as running:
        yield running


@pytest.fixture(scope="session")
def served(engine: Engine, tiny_parameters: Parameters, turns: TurnFormat) -> Served:
    def load(path: Path) -> Parameters:
        return load_parameters(path, tiny_parameters)

    return Served("tiny", engine, CODEC, turns, exact, IMAGE, tiny_parameters, load, {"grammar": "text"}, (8, 8))


@pytest.fixture(scope="session")
def server(served: Served) -> Iterator[str]:
    """The address of a running server."""
    with serving(make_app(served, SERVER), SERVER) as address:
        yield address


@pytest.fixture(scope="session")
def other_server(served: Served) -> Callable[..., contextlib.AbstractContextManager[str]]:
    """other_server(field=value, ...): a second server of the same engine, set differently."""

    def start(**changes: object) -> contextlib.AbstractContextManager[str]:
        config = dataclasses.replace(SERVER, **changes)  # type: ignore[arg-type]
        return serving(make_app(served, config), config)

    return start


@pytest.fixture
def http(server: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, timeout=600) as client:
        yield client


@pytest.fixture
def idle(engine: Engine) -> Iterator[Callable[[], None]]:
    """Waits until nothing is under way and nobody holds a session; also once more after the test."""

    def wait() -> None:
        deadline = time.monotonic() + 300
        while (now := engine.statistics()) and now.active + now.queue + now.sessions + now.idle + now.offloaded:
            assert time.monotonic() < deadline, now
            time.sleep(0.02)

    yield wait
    wait()


@pytest.fixture(scope="session")
def picture() -> Callable[[int], str]:
    """picture(seed): the data URL of an image that takes six tokens."""
    return lambda seed: encode_image(pixels(seed))


def pixels(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (16, 24, 3), np.uint8)


@pytest.fixture(scope="session")
def chat() -> Callable[..., dict[str, object]]:
    """chat(content, ...): the body of a chat completion of two tokens."""

    def body(content: object = "what", **fields: object) -> dict[str, object]:
        return {"model": "tiny", "messages": [{"role": "user", "content": content}], "max_tokens": 2, **fields}

    return body
