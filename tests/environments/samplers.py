"""Stand-ins of servers that sample for a run, in SGLang's form and vLLM's, with our engine behind them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampling
from tars_jax.inference.server import ServerConfig, serving
from tars_jax.model.policy import Parameters
from tars_jax.model.presets import preset
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.training.checkpoint import load_parameters
from tars_jax.training.open_weights import import_weights
from tars_jax.training.state import fresh_parameters


@dataclasses.dataclass
class Sampler:
    """What it was told, and the weights that it has."""

    engine: Engine
    parameters: Parameters  # what all weights are laid out like
    loaded: list[Path] = dataclasses.field(default_factory=list)
    asked: int = 0
    weight_version: str = "default"

    def load(self, folder: str) -> None:
        """The checkpoint as `transformers` has it."""
        self.loaded.append(Path(folder))
        ours = Path(folder).with_name(f"ours-{len(self.loaded)}")
        import_weights(folder, ours, dtype="float32")
        self.engine.set_weights(load_parameters(ours, self.parameters), len(self.loaded))

    async def sample(self, tokens: list[int], budget: int, seed: int) -> Any:
        self.asked += 1
        async with self.engine.session(seed) as session:
            return await session.respond(tokens, [], restart=True, sampling=Sampling(max_new_tokens=budget))

    async def generate(self, request: Request) -> Response:
        body = json.loads(await request.body())
        sampled = await self.sample(body["input_ids"], body["sampling_params"]["max_new_tokens"], self.asked)
        drawn = [[log_prob, token, None] for log_prob, token in zip(sampled.log_probs, sampled.tokens, strict=True)]
        about = {
            "finish_reason": {"type": sampled.finish},
            "prompt_tokens": len(body["input_ids"]),
            "output_token_logprobs": drawn,
            "weight_version": self.weight_version,
        }
        return JSONResponse({"text": "...", "meta_info": about})

    async def update_weights(self, request: Request) -> Response:
        body = json.loads(await request.body())
        await asyncio.to_thread(self.load, body["model_path"])
        self.weight_version = body["weight_version"]
        return JSONResponse({"success": True, "message": "done", "num_paused_requests": 0})

    async def complete(self, request: Request) -> Response:
        body = json.loads(await request.body())
        sampled = await self.sample(body["prompt"], body["max_tokens"], body.get("seed", 0))
        choice = {
            "token_ids": list(sampled.tokens),
            "logprobs": {"token_logprobs": list(sampled.log_probs)},
            "finish_reason": sampled.finish,
            "prompt_token_ids": body["prompt"],
        }
        return JSONResponse({"choices": [choice]})

    async def collective_rpc(self, request: Request) -> Response:
        body = json.loads(await request.body())
        assert body["method"] == "reload_weights"
        await asyncio.to_thread(self.load, body["kwargs"]["weights_path"])
        return JSONResponse({"results": [None]})

    async def reset_prefix_cache(self, request: Request) -> Response:
        return Response(status_code=200)


@contextlib.contextmanager
def sampling_server(max_length: int) -> Iterator[tuple[str, Sampler]]:
    """Its address; it speaks both forms."""
    tokenizer = load_tokenizer()
    model = preset("nano", tokenizer.vocabulary)
    settings = EngineConfig(slots=4, max_length=max_length, row_buckets=(2, 4), length_buckets=(64, max_length))
    parameters = fresh_parameters(model, jax.random.key(7), make_mesh({}))
    with Engine(model, parameters, settings, image=tokenizer.image, stop=tokenizer.end, seed=0) as engine:
        sampler = Sampler(engine, parameters)
        routes = {
            "/generate": sampler.generate,
            "/update_weights_from_disk": sampler.update_weights,
            "/v1/completions": sampler.complete,
            "/collective_rpc": sampler.collective_rpc,
            "/reset_prefix_cache": sampler.reset_prefix_cache,
        }
        app = Starlette(routes=[Route(path, method, methods=["POST"]) for path, method in routes.items()])
        with serving(app, ServerConfig(port=0)) as address:
            yield address, sampler
