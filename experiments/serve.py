"""Serves a policy over HTTP until it is told to stop: exported weights, an engine, the policy server.

1. the checkpoint, the model and tokenizer that it records, and from its run's config the size of its screenshots;
2. the engine, with every shape compiled before the first request;
3. the server, with its address and an example call.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from PIL import Image

from experiments.config import Rule, at_least, more_than
from experiments.sections import well_formed
from experiments.starts import run_config, starting_point
from tars_jax import InputError
from tars_jax.agent.grammar import GRAMMARS
from tars_jax.inference import Engine, EngineConfig
from tars_jax.inference.images import Fit
from tars_jax.inference.server import Served, ServerConfig, make_app, serve
from tars_jax.inference.turns import RoleFormat, Template, TurnFormat
from tars_jax.model.config import ModelConfig
from tars_jax.model.preprocessing import fit, opaque
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import Tokenizer
from tars_jax.training.metrics import Progress
from tars_jax.training.quantised import load_for_engine
from tars_jax.training.run_directory import RunDirectory
from tars_jax.training.state import abstract_parameters
from tars_jax.web.certificate import Certificate
from tars_jax.web.running import listen

RULES = {
    "checkpoint": Rule(bool, "a folder of exported weights: --config.checkpoint=RUN/policy"),
    "name": Rule(bool, "a name for the model"),
    "image": Rule(
        lambda size: len(size) in (0, 2) and all(type(side) is int and side > 0 for side in size),
        "(height, width) in pixels, or () for those of the checkpoint's run",
    ),
    "constraints": Rule(lambda names: set(names) <= set(GRAMMARS), f"some of {', '.join(GRAMMARS)}, or ()"),
    "server.max_body_megabytes": at_least(1),
    "server.stop_seconds": more_than(0),
}


def run(config: Any, run_directory: RunDirectory) -> None:
    checkpoint = Path(config.checkpoint)
    if not checkpoint.is_dir():
        raise InputError(
            f"config.checkpoint got {config.checkpoint!r}, which is no folder; it takes one like RUN/policy."
        )
    root = Path(config.checkpoint_root) if config.checkpoint_root else checkpoint.absolute().parent
    server = ServerConfig(
        host=config.host,
        port=config.port,
        api_key=read_key(config.api_key_file),
        certificate=read_certificate(config.certificate_file, config.certificate_key_file),
        max_requests=config.server.max_requests,
        max_body_bytes=config.server.max_body_megabytes << 20,
        request_seconds=config.server.request_seconds,
        lease_seconds=config.server.lease_seconds,
        stop_seconds=config.server.stop_seconds,
        checkpoint_root=root,
        incoming=run_directory.path / "incoming",
    )
    listen(server).close()  # an address that cannot be had is said now, not after all that follows
    model, tokenizer, _ = starting_point(config.checkpoint)
    image_size = tuple(config.image) or screenshot_size(checkpoint)
    model = dataclasses.replace(model, scalar_head=False)
    try:
        fit = fit_to(model, image_size)
    except InputError as error:
        raise InputError(f"config.image got {tuple(config.image)}: {error}.") from error
    mesh = make_mesh(config.mesh.to_dict())
    weights = abstract_parameters(model, mesh)
    load = functools.partial(load_for_engine, model=model, template=weights, weights=config.engine.weights)
    began = time.monotonic()
    print(f"serve: reading the weights of {checkpoint} ...", flush=True)
    with jax.set_mesh(mesh), contextlib.ExitStack() as stack:
        parameters = load(checkpoint)
        if config.constraints:
            print(
                f"serve: making tables of the constraints {', '.join(config.constraints)} over {model.vocabulary:,} "
                "tokens, which takes its time with those of an open model; --config.constraints=() goes without ...",
                flush=True,
            )
        constraints = well_formed(config.constraints, tokenizer, model.vocabulary)
        engine = stack.enter_context(
            Engine(
                model,
                parameters,
                EngineConfig(**config.engine.to_dict()),
                image=tokenizer.image,
                stop=tokenizer.end,
                seed=config.seed,
                constraints=constraints,
            )
        )
        print("serve: compiling what can be asked; a second start finds it compiled ...", flush=True)
        progress = functools.cache(lambda total: Progress("serve", total, "programs"))
        engine.warm_up(image_size, lambda done, total: progress(total).update(done))
        served = Served(
            name=config.name,
            engine=engine,
            codec=tokenizer,
            template=template(model, tokenizer),
            fit=fit,
            stop=tokenizer.end,
            weights=weights,
            load=load,
            agent=run_config(checkpoint).get("agent"),
            screenshot=image_size,
        )
        print(f"serve: ready after {time.monotonic() - began:.1f} s", flush=True)
        serve(make_app(served, server), server, functools.partial(announce, config), say)
    print("serve: stopped", flush=True)


def screenshot_size(checkpoint: Path) -> tuple[int, int] | None:
    """(height, width) of the run's screenshots, where the checkpoint lies in a run; None: of any size."""
    size = (run_config(checkpoint).get("browser") or {}).get("size")
    return None if size is None else (size, size)


def template(model: ModelConfig, tokenizer: Tokenizer) -> Template:
    """How messages stand in tokens: as our agent's prompts do (tars_jax/agent/prompts.py), or as Qwen's."""

    def image_tokens(height: int, width: int) -> int:
        rows, columns = model.vision.token_grid(height, width)
        return rows * columns

    formats = RoleFormat if tokenizer.knows(RoleFormat.start) else TurnFormat
    return formats(tokenizer, image_tokens)


def fit_to(model: ModelConfig, size: tuple[int, int] | None) -> Fit:
    """Images of chat messages to the one size that the policy knows, or each to its own smart size.

    Raises InputError for a size that the model does not read.
    """
    if size is None:
        return lambda image: fit(image, model.vision)
    model.vision.token_grid(*size)
    height, width = size

    def resize(image: Image.Image) -> np.ndarray:
        image = opaque(image)
        same = image.size == (width, height)
        return np.asarray(image if same else image.resize((width, height), Image.Resampling.BICUBIC))

    return resize


def read_key(file: str) -> str:
    if not file:
        return ""
    try:
        key = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"config.api_key_file got {file!r}, which cannot be read: {error}.") from error
    if not key:
        raise InputError(f"config.api_key_file got {file!r}, which is empty; it takes a file that holds the key.")
    return key


def read_certificate(chain: str, key: str) -> Certificate | None:
    if not chain and not key:
        return None
    if not chain or not key:
        missing = "certificate_key_file" if chain else "certificate_file"
        raise InputError(f"config.{missing} got '', TLS takes config.certificate_file and config.certificate_key_file.")
    return Certificate(Path(chain), Path(key))


def announce(config: Any, address: str) -> None:
    key = '  -H "Authorization: Bearer $(cat KEY_FILE)" \\\n' if config.api_key_file else ""
    body = f'{{"model": "{config.name}", "messages": [{{"role": "user", "content": "Say where you are.\\n5 left"}}]}}'
    print(
        f"serve: {address}/v1 (OpenAI's chat completions), {address}/v1/rl (sessions, weights), {address}/metrics\n"
        f"Try:  curl {address}/v1/chat/completions -H 'Content-Type: application/json' \\\n{key}  -d '{body}'\n"
        "Ctrl-C ends it: requests under way may finish.",
        flush=True,
    )


def say(words: str) -> None:
    print(f"\nserve: {words}", flush=True)
