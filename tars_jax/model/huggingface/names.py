"""The table of tensors: what `transformers` calls each one, which of our parameters it is, and how their axes map.

Axes: v vocabulary, d width, n heads, h head dimension, e experts, f feed-forward width, i in, o out, c channels, t
frames, p and q rows and columns of a patch.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import einops
import jax
import numpy as np

from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import group_names
from tars_jax.model.huggingface.configuration import family

# How files keep experts: fused as [e, in, out] (what is published, and transformers 4); fused as [e, out, in] (what
# transformers 5 writes of a model that it made); each expert in three matrices (as Qwen3-MoE is published, and what
# tools of that family write).
EXPERTS = ("in_out", "out_in", "separate")
HEAD, EMBEDDING = "lm_head.weight", "model.language_model.embed_tokens.weight"

_OLD_NAMES = ((r"^visual\.", "model.visual."), (r"^model\.(?!language_model\.|visual\.)", "model.language_model."))


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One tensor of a checkpoint file.

    `pattern` is an einops pattern from theirs to ours. When several of our parameters are fused into one tensor, its
    first axis on our side counts them.
    """

    theirs: str
    ours: tuple[str, ...]  # paths of parameters
    pattern: str
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)  # of axes that the pattern takes apart
    index: tuple[int, ...] = ()  # into the first axes of ours, where layers are stacked, or layers and experts

    def to_ours(self, array: np.ndarray) -> list[np.ndarray]:
        """The parts, one for each path of `ours`."""
        array = einops.rearrange(array, self.pattern, **self.sizes)
        return list(array) if len(self.ours) > 1 else [array]

    def to_theirs(self, parts: list[Any]) -> Any:
        theirs, ours = self.pattern.split(" -> ")
        array = parts if len(self.ours) > 1 else parts[0]
        return einops.rearrange(array, f"{ours} -> {theirs}", **self.sizes)

    def shape(self, shapes: Mapping[str, jax.ShapeDtypeStruct]) -> tuple[int, ...]:
        """Shape of theirs, given the shapes of our parameters by path."""
        whole = [shapes[path] for path in self.ours]
        parts = [jax.ShapeDtypeStruct(each.shape[len(self.index) :], each.dtype) for each in whole]
        return jax.eval_shape(self.to_theirs, parts).shape


def current_name(name: str) -> str:
    """A tensor's name in today's scheme: Qwen2.5-VL files still have that of before text and vision had a parent."""
    for pattern, replacement in _OLD_NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def file_name(name: str, kind: str) -> str:
    """The inverse of `current_name` for a family's files."""
    if kind == "qwen2_5_vl":
        return name.replace("model.visual.", "visual.", 1).replace("model.language_model.", "model.", 1)
    return name


def tensors(config: ModelConfig, experts: str = EXPERTS[0]) -> list[Tensor]:
    """Every tensor of a checkpoint of this config, with the experts in one of the layouts `EXPERTS`.

    Raises InputError when the config is none of the families.
    """
    family(config)
    text = "model.language_model"
    ends = [Tensor(EMBEDDING, ("embed/embedding",), "v d -> v d")]
    ends.append(Tensor(f"{text}.norm.weight", ("decoder/norm/scale",), "d -> d"))
    if not config.tied_embeddings:
        ends.append(Tensor(HEAD, ("vocabulary_head/kernel",), "v d -> d v"))
    runs = zip(group_names(len(config.layer_runs)), config.layer_runs, strict=True)
    places = [(group, index) for group, size in runs for index in range(size)]
    layers = [
        tensor
        for layer, place in enumerate(places)
        for tensor in _layer(config.of_layer(layer), f"layers.{layer}", place, experts)
    ]
    return [*_vision(config), *ends, *layers]


def _layer(config: ModelConfig, layer: str, place: tuple[str, int], experts: str) -> Iterator[Tensor]:
    """Of a layer that stands at an index of a group of ours, as all layers of `config` are."""
    group, first = place

    def tensor(
        theirs: str, ours: str | tuple[str, ...], pattern: str, expert: int | None = None, **sizes: int
    ) -> Tensor:
        paths = (ours,) if isinstance(ours, str) else ours
        index = (first,) if expert is None else (first, expert)
        ours_whole = tuple(f"decoder/{group}/{path}" for path in paths)
        return Tensor(f"model.language_model.{layer}.{theirs}", ours_whole, pattern, sizes, index)

    projections = (("q", "query", config.query_heads), ("k", "key", config.kv_heads), ("v", "value", config.kv_heads))
    for theirs, ours, heads in projections:
        yield tensor(f"self_attn.{theirs}_proj.weight", f"attention/{ours}/kernel", "(n h) d -> d n h", n=heads)
        if config.qkv_bias:
            yield tensor(f"self_attn.{theirs}_proj.bias", f"attention/{ours}/bias", "(n h) -> n h", n=heads)
    yield tensor("self_attn.o_proj.weight", "attention/out/kernel", "d (n h) -> n h d", n=config.query_heads)
    if config.query_key_norm:
        yield tensor("self_attn.q_norm.weight", "attention/query_norm/scale", "h -> h")
        yield tensor("self_attn.k_norm.weight", "attention/key_norm/scale", "h -> h")
    kind = "experts" if config.experts else "mlp"
    yield tensor("input_layernorm.weight", "attention_norm/scale", "d -> d")
    yield tensor("post_attention_layernorm.weight", f"{kind}_norm/scale", "d -> d")
    if config.experts:
        yield tensor("mlp.gate.weight", "experts/router", "e d -> d e")
        if experts == "separate":
            for expert in range(config.experts):
                for name in ("gate", "up", "down"):
                    yield tensor(f"mlp.experts.{expert}.{name}_proj.weight", f"experts/{name}", "o i -> i o", expert)
        else:
            up, down = ("e (parts f) d", "e d f") if experts == "out_in" else ("e d (parts f)", "e f d")
            fused = ("experts/gate", "experts/up")
            yield tensor("mlp.experts.gate_up_proj", fused, f"{up} -> parts e d f", parts=2)
            yield tensor("mlp.experts.down_proj", "experts/down", f"{down} -> e f d")
    else:
        for name in ("gate", "up", "down"):
            yield tensor(f"mlp.{name}_proj.weight", f"mlp/{name}/kernel", "o i -> i o")


def _vision(config: ModelConfig) -> Iterator[Tensor]:
    vision = config.vision

    def dense(theirs: str, ours: str) -> Iterator[Tensor]:
        yield Tensor(f"model.visual.{theirs}.weight", (f"vision/{ours}/kernel",), "o i -> i o")
        yield Tensor(f"model.visual.{theirs}.bias", (f"vision/{ours}/bias",), "o -> o")

    def norm(theirs: str, ours: str) -> Iterator[Tensor]:
        yield Tensor(f"model.visual.{theirs}.weight", (f"vision/{ours}/scale",), "d -> d")
        if not vision.gated:
            yield Tensor(f"model.visual.{theirs}.bias", (f"vision/{ours}/bias",), "d -> d")

    sizes = {"c": 3, "t": vision.temporal, "p": vision.patch, "q": vision.patch}
    embed = ("vision/patch_embed/kernel",)
    yield Tensor("model.visual.patch_embed.proj.weight", embed, "o c t p q -> (c t p q) o", sizes)
    if not vision.gated:
        yield Tensor("model.visual.patch_embed.proj.bias", ("vision/patch_embed/bias",), "o -> o")
    if vision.grid:
        grid = {"p": vision.grid}
        yield Tensor("model.visual.pos_embed.weight", ("vision/position",), "(p q) d -> p q d", grid)

    gated = (("gate_proj", "mlp_gate"), ("up_proj", "mlp_up"), ("down_proj", "mlp_out"))
    for block in range(vision.depth):
        theirs, ours = f"blocks.{block}", f"block_{block}"
        yield from norm(f"{theirs}.norm1", f"{ours}/attention_norm")
        yield from norm(f"{theirs}.norm2", f"{ours}/mlp_norm")
        yield from dense(f"{theirs}.attn.qkv", f"{ours}/qkv")
        yield from dense(f"{theirs}.attn.proj", f"{ours}/attention_out")
        for name, our_name in gated if vision.gated else (("linear_fc1", "mlp_in"), ("linear_fc2", "mlp_out")):
            yield from dense(f"{theirs}.mlp.{name}", f"{ours}/{our_name}")

    first, second, merge_norm = ("mlp.0", "mlp.2", "ln_q") if vision.gated else ("linear_fc1", "linear_fc2", "norm")
    mergers = [("merger", "merge")]
    mergers += [(f"deepstack_merger_list.{index}", f"deepstack_{index}") for index in range(len(vision.deepstack))]
    for theirs, ours in mergers:
        yield from norm(f"{theirs}.{merge_norm}", f"{ours}_norm")
        yield from dense(f"{theirs}.{first}", f"{ours}_in")
        yield from dense(f"{theirs}.{second}", f"{ours}_out")
