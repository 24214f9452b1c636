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

from tars_jax import InputError
from tars_jax.agent.computer_form import ComputerForm
from tars_jax.inference.config import EngineConfig, ServerConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.server import Served, make_app, serve
from tars_jax.model.presets import PRESETS
from tars_jax.model.sharding import make_mesh
from tars_jax.pipelines.command_fields import listen_address
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.sections import well_formed
from tars_jax.pipelines.serving import fit_to, read_certificate, read_key, screenshot_size, template
from tars_jax.pipelines.starting_weights import run_config, starting_point
from tars_jax.rollout.recorded_episode import KeptConversations
from tars_jax.training.progress import counting, working
from tars_jax.training.quantized import load_for_engine
from tars_jax.training.run_directory import RunDirectory
from tars_jax.training.state import abstract_parameters, fresh_parameters
from tars_jax.web.request_limits import is_loopback


def run(config: Any, run_directory: RunDirectory) -> None:
    checkpoint = None if config.checkpoint in PRESETS else Path(config.checkpoint)
    if checkpoint is not None and not checkpoint.is_dir():
        raise InputError(f"config.checkpoint must be a folder like RUN/policy; got {config.checkpoint!r}")
    root = Path(config.checkpoint_root) if config.checkpoint_root else None
    if root is None and checkpoint is not None:
        root = checkpoint.absolute().parent
    if not config.api_key_file and not is_loopback(config.host):
        raise InputError(f"config.api_key_file must be given where others can reach {config.host}; got ''")
    address = listen_address(config)
    server = ServerConfig(
        host=address.host,
        port=address.port,
        api_key=read_key(config.api_key_file),
        certificate=read_certificate(config.certificate_file, config.certificate_key_file),
        **config.server.to_dict(),
        checkpoint_root=root,
        incoming=run_directory.path / "incoming",
    )
    with naming("config.checkpoint", "checkpoint"):
        model, tokenizer, _ = starting_point(config.checkpoint)
    image_size = tuple(config.image) or (screenshot_size(checkpoint) if checkpoint else None)
    model = dataclasses.replace(model, scalar_head=False)
    try:
        fit = fit_to(model, image_size)
    except InputError as error:
        raise InputError(
            f"config.image must be one that the model reads; got {tuple(config.image)}: {error}"
        ) from error
    mesh = make_mesh(config.mesh.to_dict())
    keep = kept_in(config.record) if config.record else None
    weights = abstract_parameters(model, mesh)
    load = functools.partial(load_for_engine, model=model, template=weights, weights=config.engine.weights)
    began = time.monotonic()
    with jax.set_mesh(mesh), contextlib.ExitStack() as stack:
        if checkpoint is None:
            print(f"serve: random weights of {config.checkpoint}, until a learner hands over its own", flush=True)
            parameters = fresh_parameters(model, jax.random.key(config.seed), mesh)
        else:
            print(f"serve: reading the weights of {checkpoint} ...", flush=True)
            with working("serve: reading the weights"):
                parameters = load(checkpoint)
        if config.constraints:
            print(
                f"serve: making tables of the constraints {', '.join(config.constraints)} over {model.vocabulary:,} "
                "tokens, which takes its time with those of an open model; --config.constraints=() goes without ...",
                flush=True,
            )
        with working("serve: making tables"):
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
        engine.warm_up(image_size, counting("serve", "programs"))
        agent = run_config(checkpoint).get("agent") if checkpoint else None
        served = Served(
            name=config.name,
            engine=engine,
            codec=tokenizer,
            template=template(model, tokenizer),
            fit=fit,
            stop=tokenizer.end,
            weights=weights,
            load=load,
            agent=agent,
            computer=ComputerForm.of(agent),
            screenshot=image_size,
            token_bytes=tokenizer.token_bytes,
            keep=keep,
        )
        print(f"serve: ready after {time.monotonic() - began:.1f} s", flush=True)
        serve(make_app(served, server), server, functools.partial(announce, config), say)
    print("serve: stopped", flush=True)


def kept_in(record: str) -> KeptConversations:
    """Raises InputError where nothing can be kept."""
    try:
        return KeptConversations(Path(record))
    except OSError as error:
        raise InputError(
            f"config.record must be a folder that can be made and written; got {record!r}: {error.strerror}"
        ) from error


def announce(config: Any, address: str) -> None:
    key = '  -H "Authorization: Bearer $(cat KEY_FILE)" \\\n' if config.api_key_file else ""
    body = f'{{"model": "{config.name}", "messages": [{{"role": "user", "content": "Say where you are.\\n5 left"}}]}}'
    print(
        f"serve: {address}/v1 (OpenAI's chat completions and responses), {address}/v1/rl (sessions, weights), "
        f"{address}/metrics\n"
        f"Try:  curl {address}/v1/chat/completions -H 'Content-Type: application/json' \\\n{key}  -d '{body}'\n"
        "Ctrl-C ends it: requests under way may finish.",
        flush=True,
    )


def say(words: str) -> None:
    print(f"\nserve: {words}", flush=True)
