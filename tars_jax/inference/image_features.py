"""The image-feature cache: a screenshot that is shown again is not encoded again.

Axes: I images, Q image tokens of an image, P image tokens in the bank, D width, F features that are added after the
first decoder layers.

Windows that begin again show their last screenshots again, and the samples of a group begin with the same one. The bank
holds features [1 + F, P, D] on the device. An image is known by the hash of its pixels and its size, and owns Q
places, which may be anywhere. New weights empty the bank. When it is full, those shown longest ago give way.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Array, Parameters, encode_images
from tars_jax.model.preprocessing import image_key
from tars_jax.model.quantization import encode_images_quantized
from tars_jax.model.sharding import array_sharding, constrain


@dataclasses.dataclass(frozen=True)
class RequestImage:
    """One screenshot of a request."""

    key: bytes
    pixels: np.ndarray  # [height, width, 3] uint8
    grid: tuple[int, int]  # rows and columns of its image tokens

    @property
    def tokens(self) -> int:
        return self.grid[0] * self.grid[1]

    @staticmethod
    def of(model: ModelConfig, pixels: np.ndarray) -> RequestImage:
        """A screenshot as a request has it. Raises InputError for what is not uint8 [height, width, 3], or of a size
        that the model cannot read."""
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
            raise InputError(f"an image must be uint8 [height, width, 3]; got {pixels.dtype} {list(pixels.shape)}")
        grid = model.vision.token_grid(*pixels.shape[:2])
        return RequestImage(image_key(pixels), pixels, grid)


Encode = Callable[[Parameters, jax.Array, Array, Array], jax.Array]


@functools.cache
def make_encode_fn(config: ModelConfig, quantized: bool) -> Encode:
    """Jitted: (parameters, bank, images [I, height, width, 3], places [I, Q]) to the bank with them in it.

    Places at P or beyond are dropped. The bank is donated.
    """
    run = encode_images_quantized if quantized else encode_images

    @functools.partial(jax.jit, donate_argnums=1)
    def encode(parameters: Parameters, bank: jax.Array, images: Array, places: Array) -> jax.Array:
        encoded = run(config, {"vision": parameters["vision"]}, images)
        return constrain(bank.at[:, places].set(encoded.astype(bank.dtype), mode="drop"), None, None, None)

    return encode


class ImageFeatureCache:
    """The bank and its bookkeeping. One thread uses it."""

    def __init__(
        self,
        config: ModelConfig,
        size: int,
        buckets: Sequence[int],
        *,
        quantized: bool = False,
        mesh: Mesh | None = None,
    ) -> None:
        """`size` is in image tokens; `buckets` are the numbers of images that are encoded in one batch.

        On a mesh every device has the whole bank.
        """
        self.size = size
        self.hits = self.misses = 0
        self._config, self._buckets = config, tuple(buckets)
        self._encode = make_encode_fn(config, quantized)
        shape = (1 + len(config.vision.deepstack), size, config.width)
        whole = None if mesh is None else array_sharding(mesh, shape, None, None, None)
        self.features = jax.device_put(jnp.zeros(shape, config.dtype), whole)
        self._places: collections.OrderedDict[bytes, np.ndarray] = collections.OrderedDict()  # longest ago first
        self._free = np.arange(size)
        self._weights: object = None

    def get_or_encode(
        self, parameters: Parameters, weights: object, images: Iterable[RequestImage]
    ) -> dict[bytes, np.ndarray]:
        """The places [Q] of each image, encoded now where it was not yet. Together they fit the bank.

        `weights` names the parameters: anything that is equal for equal ones alone.
        """
        if weights != self._weights:
            self._places.clear()
            self._free, self._weights = np.arange(self.size), weights
        wanted: dict[bytes, RequestImage] = {}
        for image in images:
            known = image.key in self._places or image.key in wanted
            self.hits, self.misses = self.hits + known, self.misses + (not known)
            wanted[image.key] = image
        for key in wanted.keys() & self._places.keys():
            self._places.move_to_end(key)
        missing = [image for key, image in wanted.items() if key not in self._places]
        for image in missing:
            self._places[image.key] = self._room(image.tokens)
        for shape in dict.fromkeys(image.pixels.shape for image in missing):
            alike = [image for image in missing if image.pixels.shape == shape]
            for first in range(0, len(alike), self._buckets[-1]):
                self._add(parameters, alike[first : first + self._buckets[-1]])
        return {key: self._places[key] for key in wanted}

    def fits(self, images: Iterable[RequestImage]) -> bool:
        """Whether all of these can be in the bank at once."""
        distinct = {image.key: image.tokens for image in images}
        return sum(distinct.values()) <= self.size

    def warm_up(self, parameters: Parameters, image_size: tuple[int, int]) -> None:
        """Compiles for every number of images of this height and width."""
        tokens = int(np.prod(self._config.vision.token_grid(*image_size)))
        for count in self._buckets:
            images = np.zeros((count, *image_size, 3), np.uint8)
            self.features = self._encode(parameters, self.features, images, np.full((count, tokens), self.size))

    def _room(self, tokens: int) -> np.ndarray:
        while self._free.size < tokens:
            _, places = self._places.popitem(last=False)
            self._free = np.concatenate([self._free, places])
        places, self._free = self._free[:tokens], self._free[tokens:]
        return places

    def _add(self, parameters: Parameters, images: Sequence[RequestImage]) -> None:
        count = next(bucket for bucket in self._buckets if bucket >= len(images))
        pixels = np.zeros((count, *images[0].pixels.shape), np.uint8)
        places = np.full((count, images[0].tokens), self.size)
        for number, image in enumerate(images):
            pixels[number], places[number] = image.pixels, self._places[image.key]
        self.features = self._encode(parameters, self.features, pixels, places)
