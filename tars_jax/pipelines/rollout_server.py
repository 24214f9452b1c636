"""A run whose policy samples on a server of somebody else's, as `config.server` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.inference.server_policy import ServerPolicy
from tars_jax.inference.token_server import FORMS
from tars_jax.model.config import ModelConfig
from tars_jax.model.tokenizer import COMMITTED, Tokenizer
from tars_jax.pipelines.serving import read_key
from tars_jax.rollout.players import Player
from tars_jax.rollout.remote_policy import declining_player, waiting_player
from tars_jax.rules import Rule, more_than, one_of
from tars_jax.training.checkpoint import extra_files_of

AWAY_SECONDS = 5.0  # until a server that was away is asked again
SERVER_RULES: dict[str, Rule] = {
    "server.form": one_of(*FORMS),
    "server.answer_seconds": more_than(0),
    "server.patience": more_than(0),
}


def has_server(config: Any) -> bool:
    return "server" in config and bool(config.server.address)


def open_server(config: Any, model: ModelConfig, tokenizer: Tokenizer, parent: Path | None, run: Path) -> ServerPolicy:
    """Raises InputError for what a server of others cannot do for a run."""
    server = config.server
    if config.agent.constrained:
        raise InputError("agent.constrained must be False with server.address, as no constraint goes there; got True")
    if server.form == "vllm" and not server.model:
        raise InputError("server.model must be the name of a model of the vLLM server; got ''")
    return ServerPolicy(
        server.address,
        server.form,
        served_model=server.model,
        model=model,
        stop=tokenizer.end,
        max_new_tokens=config.engine.max_new_tokens,
        folder=Path(server.weights_folder) if server.weights_folder else run / "served",
        extra_files=[COMMITTED] if parent is None else extra_files_of(parent),
        api_key=read_key(server.api_key_file),
        patience=server.answer_seconds,
    )


def patient_player(config: Any, player: Player) -> Player:
    """The same player, whose server may be away for `server.patience` seconds."""
    return waiting_player(declining_player(player), PolicyUnavailable, AWAY_SECONDS, config.server.patience)
