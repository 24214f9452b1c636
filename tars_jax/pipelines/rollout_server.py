"""A run whose policy samples on servers, as `config.server` says: policy servers of ours, or one of somebody else's."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.inference.policy_servers import Demands, PolicyServers
from tars_jax.inference.sampling import Sampling
from tars_jax.inference.server_policy import ServerPolicy
from tars_jax.inference.serving_weights import WeightFolders
from tars_jax.model.config import ModelConfig
from tars_jax.model.tokenizer import COMMITTED, Tokenizer
from tars_jax.pipelines.run_sections import OURS
from tars_jax.pipelines.serving import read_key
from tars_jax.rollout.players import Player
from tars_jax.rollout.remote_policy import declining_player, waiting_player
from tars_jax.training.checkpoint import extra_files_of, save_parameters

AWAY_SECONDS = 5.0  # until a server that was away is asked again
# What the room below calls its arguments, by the fields that they come from.
FIELDS = {"client.target": "server.address", "client.api_key": "server.api_key_file"}


def has_server(config: Any) -> bool:
    return "server" in config and bool(config.server.address)


def open_server(
    config: Any, model: ModelConfig, tokenizer: Tokenizer, parent: Path | None, run: Path, pattern: str
) -> ServerPolicy | PolicyServers:
    """`pattern`: that answers match, or "". Raises InputError for what a server cannot do for a run."""
    if config.server.form == OURS:
        return _open_ours(config, model, tokenizer, pattern)
    return _open_theirs(config, model, tokenizer, parent, run)


def _open_ours(config: Any, model: ModelConfig, tokenizer: Tokenizer, pattern: str) -> PolicyServers:
    server, engine = config.server, config.engine
    policy = dataclasses.replace(model, scalar_head=False)
    folders = None
    if server.weights_folder:
        folders = WeightFolders(
            Path(server.weights_folder),
            lambda target, weights: save_parameters(target, weights, parent=None, model=policy),
        )
    demands = Demands(
        vocabulary=model.vocabulary,
        stop=tokenizer.end,
        image=model.image_token,
        max_length=engine.max_length,
        precision=engine.weights,
        routes=engine.record_routes,
    )
    try:
        return PolicyServers(
            addresses(server.address),
            demands,
            Sampling(max_new_tokens=engine.max_new_tokens),
            pattern=pattern,
            api_key=read_key(server.api_key_file, "server.api_key_file"),
            patience=server.answer_seconds,
            folders=folders,
        )
    except InputError as error:
        argument, _, rest = str(error).partition(" ")
        raise InputError(f"{FIELDS.get(argument, argument)} {rest}") from None


def _open_theirs(config: Any, model: ModelConfig, tokenizer: Tokenizer, parent: Path | None, run: Path) -> ServerPolicy:
    server = config.server
    if config.agent.constrained:
        raise InputError(
            f"agent.constrained must be False with server.form={server.form}, as no constraint goes there; got True"
        )
    if config.agent.line_tokens:
        raise InputError(
            f"agent.line_tokens must be 0 with server.form={server.form}, which can only be asked for answers; got "
            f"{config.agent.line_tokens}"
        )
    if server.form == "vllm" and not server.model:
        raise InputError("server.model must be the name of a model of the vLLM server; got ''")
    if len(found := addresses(server.address)) > 1:
        raise InputError(f"server.address must be one address with server.form={server.form}; got {len(found)}")
    return ServerPolicy(
        server.address,
        server.form,
        served_model=server.model,
        model=model,
        stop=tokenizer.end,
        max_new_tokens=config.engine.max_new_tokens,
        folder=Path(server.weights_folder) if server.weights_folder else run / "served",
        extra_files=[COMMITTED] if parent is None else extra_files_of(parent),
        api_key=read_key(server.api_key_file, "server.api_key_file"),
        patience=server.answer_seconds,
    )


def addresses(text: str) -> Sequence[str]:
    """Splits addresses at commas, and removes their /v1."""
    return [each.strip().rstrip("/").removesuffix("/v1") for each in text.split(",") if each.strip()]


def patient_player(config: Any, player: Player) -> Player:
    """The player with a server that may be away for `server.patience` seconds."""
    return waiting_player(declining_player(player), PolicyUnavailable, AWAY_SECONDS, config.server.patience)
