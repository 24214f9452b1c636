"""Shapes of the policy: one architecture, from a million parameters to 230 billion, told apart by numbers alone.

Two families of open weights set the range: Qwen3-VL, with experts or without, and Qwen2.5-VL.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

from tars_jax import InputError
from tars_jax.model.execution import EXECUTION, Execution
from tars_jax.model.yarn import Yarn

DTYPES = ("float32", "bfloat16")  # of parameters and activations
# Of the image, in pixels, where a checkpoint does not say.
MIN_PIXELS, MAX_PIXELS = 56 * 56, 28 * 28 * 1280
LARGEST_RATIO = 200


def require_dtype(dtype: str, where: str = "dtype") -> None:
    """Raises InputError that begins with `where` for a type that no model is computed or kept in."""
    if dtype not in DTYPES:
        raise InputError(f"{where} must be one of {', '.join(DTYPES)}; got {dtype!r}")


@dataclasses.dataclass(frozen=True)
class VisionConfig:
    """The vision encoder. An image of [height, width] pixels becomes height * width / (patch * merge)^2 tokens."""

    patch: int = 16  # pixels a side
    merge: int = 1  # patches a side that one token of the decoder stands for
    temporal: int = 1  # frames that a patch spans; an image is a still film of so many
    grid: int = 6  # side of the learned position grid, interpolated to other sizes; 0: none
    width: int = 64
    depth: int = 2
    heads: int = 4
    mlp_width: int = 128
    rope_theta: float = 10_000.0
    gated: bool = False  # Qwen2.5-VL's blocks: RMSNorm, SwiGLU, no bias on patches. Else LayerNorm, tanh GELU, bias
    window: int = 0  # pixels a side that attention sees; 0: the whole image
    whole_image_blocks: tuple[int, ...] = ()  # blocks that see the whole image in spite of `window`
    deepstack: tuple[int, ...] = ()  # blocks whose output is added after decoder layers 0, 1, ... at image tokens
    pixel_mean: tuple[float, float, float] = (0.5, 0.5, 0.5)  # of red, green, blue in 0..1
    pixel_std: tuple[float, float, float] = (0.5, 0.5, 0.5)
    min_pixels: int = MIN_PIXELS  # of an image as it is read (`preprocessing.fit_image`)
    max_pixels: int = MAX_PIXELS

    def __post_init__(self) -> None:
        _require_sizes(self, "vision.", ("patch", "merge", "temporal", "width", "depth", "heads", "mlp_width"))
        if self.grid < 0:
            raise InputError(f"vision.grid must be 0 or more; got {self.grid}")
        if self.width % (4 * self.heads):
            raise InputError(
                f"vision.width must be a multiple of {4 * self.heads}, four times vision.heads; got {self.width}"
            )
        if self.window % (self.patch * self.merge):
            raise InputError(f"vision.window must be a multiple of {self.patch * self.merge} pixels; got {self.window}")
        if not 0 < self.min_pixels <= self.max_pixels:
            raise InputError(
                f"vision.min_pixels must be 1 to {self.max_pixels}, which is vision.max_pixels; got {self.min_pixels}"
            )
        for name in ("whole_image_blocks", "deepstack"):
            if any(not 0 <= block < self.depth for block in getattr(self, name)):
                raise InputError(f"vision.{name} must be blocks 0 to {self.depth - 1}; got {getattr(self, name)}")
        if len(set(self.deepstack)) < len(self.deepstack):
            raise InputError(f"vision.deepstack must name a block once at most; got {self.deepstack}")

    def token_grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of decoder tokens for an image; raises InputError when the size does not divide."""
        unit = self.patch * self.merge
        if height % unit or width % unit:
            raise InputError(f"both sides of an image must be multiples of {unit} pixels; got {height}x{width}")
        return height // unit, width // unit


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Vision encoder plus decoder, whose layers have experts each, or one dense feed-forward: all of them where
    `experts` is 0, else those that `dense_layers` names.
    """

    vocabulary: int
    width: int
    depth: int
    query_heads: int
    kv_heads: int
    head_dim: int
    vision: VisionConfig
    experts: int = 0
    experts_per_token: int = 0
    expert_width: int = 0
    mlp_width: int = 0  # of a dense feed-forward
    dense_layers: tuple[int, ...] = ()  # of a model with experts, ascending
    qkv_bias: bool = False
    query_key_norm: bool = True  # RMS norm of each head before the rotation
    rope_theta: float = 10_000.0
    rope_sections: tuple[int, int, int] = (6, 5, 5)  # frequencies rotated by time, row, column; sums to head_dim / 2
    rope_interleaved: bool = True  # frequencies are dealt to time, row, column in turn; else in three chunks
    rope_scaling: Yarn | None = None  # for contexts longer than those of its training
    norm_epsilon: float = 1e-6
    tied_embeddings: bool = False  # the vocabulary head is the embedding
    scalar_head: bool = False  # a value for each token
    vocabulary_head: bool = True  # logits for each token; off in a separate value model
    image_token: int | None = None  # stands for a piece of a screenshot: read, and never written
    dtype: str = "float32"  # of activations and the cache; parameters keep their own, logits and values are float32
    execution: Execution = EXECUTION  # how it is computed

    def __post_init__(self) -> None:
        _require_sizes(self, "", ("vocabulary", "width", "depth", "query_heads", "kv_heads", "head_dim"))
        if len(self.rope_sections) != 3 or min(self.rope_sections) < 0:
            raise InputError(f"rope_sections must be three numbers of 0 or more; got {self.rope_sections}")
        if sum(self.rope_sections) * 2 != self.head_dim:
            raise InputError(
                f"rope_sections must sum to {self.head_dim // 2}, half of head_dim; got {self.rope_sections}"
            )
        if self.query_heads % self.kv_heads:
            raise InputError(
                f"query_heads must be a multiple of {self.kv_heads}, which is kv_heads; got {self.query_heads}"
            )
        if self.experts and not 1 <= self.experts_per_token <= self.experts:
            raise InputError(f"experts_per_token must be 1 to {self.experts}; got {self.experts_per_token}")
        if self.experts:
            _require_sizes(self, "", ("experts", "expert_width"))
        dense = self.dense_layers
        if not set(dense) < set(range(self.depth)) or list(dense) != sorted(set(dense)) or (dense and not self.experts):
            raise InputError(f"dense_layers must be some of layers 0 to {self.depth - 1} with experts; got {dense}")
        if bool(self.experts) == bool(self.mlp_width) and not dense:
            raise InputError(f"one of experts and mlp_width must be 0; got {self.experts} and {self.mlp_width}")
        if dense and not self.mlp_width:
            raise InputError("mlp_width must be 1 or more where there are dense_layers; got 0")
        if len(self.vision.deepstack) > self.depth:
            raise InputError(
                f"vision.deepstack must have no more blocks than {self.depth} layers; got {self.vision.deepstack}"
            )
        require_dtype(self.dtype, "model.dtype")

    @property
    def layer_runs(self) -> tuple[int, ...]:
        """Numbers of consecutive layers of one kind, from the first on: one run, where all are alike."""
        kinds = itertools.groupby(range(self.depth), key=lambda layer: layer in self.dense_layers)
        return tuple(len(list(layers)) for _, layers in kinds)

    @property
    def routed_layers(self) -> int:
        """Layers that say where tokens went: those with experts, or all of a model without (nowhere)."""
        return self.depth - len(self.dense_layers)

    def of_layer(self, layer: int) -> ModelConfig:
        """A model whose layers are all of this one's kind."""
        if not self.dense_layers:
            return self
        if layer in self.dense_layers:
            return dataclasses.replace(self, dense_layers=(), experts=0, experts_per_token=0)
        return dataclasses.replace(self, dense_layers=(), mlp_width=0)

    @property
    def experts_backend(self) -> str:
        """Backend that computes the experts on this platform."""
        return self.execution.experts_backend(self.dtype, self.width, self.expert_width)


def _require_sizes(config: Any, prefix: str, names: tuple[str, ...]) -> None:
    """Raises InputError that names the field which is no whole number of 1 or more."""
    for name in names:
        if not isinstance(size := getattr(config, name), int) or size < 1:
            raise InputError(f"{prefix}{name} must be a whole number of 1 or more; got {size!r}")


def config_to_json(config: ModelConfig) -> dict[str, Any]:
    """A checkpoint's record of its model: every field but `execution`, which is not part of what it computes."""
    values = dataclasses.asdict(config)
    del values["execution"]
    return values


def config_from_json(values: Any, where: str) -> ModelConfig:
    """Inverse of `config_to_json`; fields that were not known then have their defaults.

    Raises InputError that begins with `where` and names the field which is unknown, missing or impossible.
    """
    try:
        vision = VisionConfig(**{name: _tuples(value) for name, value in values["vision"].items()})
        scaling = None if (said := values.get("rope_scaling")) is None else Yarn(**said)
        parts = {"vision": vision, "rope_scaling": scaling}
        return ModelConfig(**{name: _tuples(value) for name, value in {**values, **parts}.items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{where} is not one of this version: {error}") from error
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _tuples(value: Any) -> Any:
    """JSON has no tuples: a config has no lists."""
    return tuple(value) if isinstance(value, list) else value


def smart_resize(
    height: int, width: int, unit: int, min_pixels: int = MIN_PIXELS, max_pixels: int = MAX_PIXELS
) -> tuple[int, int]:
    """(height, width) of an image of height x width as the Qwen vision families read it.

    Both sides are multiples of `unit` (patch * merge), the area lies between `min_pixels` and `max_pixels`, and the
    ratio changes as little as that allows.

    Raises InputError where one side is more than 200 times the other, or has no pixel.
    """
    if min(height, width) < 1:
        raise InputError(f"the sides of an image must be 1 pixel or more; got {height} x {width}")
    if max(height, width) > LARGEST_RATIO * min(height, width):
        raise InputError(
            f"a side of an image must be at most {LARGEST_RATIO} times the other; got {height} x {width} pixels"
        )
    rows, columns = round(height / unit), round(width / unit)
    if rows * columns * unit**2 > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        rows, columns = (max(1, math.floor(side / shrink / unit)) for side in (height, width))
    elif rows * columns * unit**2 < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        rows, columns = (math.ceil(side * grow / unit) for side in (height, width))
    return rows * unit, columns * unit
