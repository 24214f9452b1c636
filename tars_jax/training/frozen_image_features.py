"""Screenshots under a vision encoder that does not learn: each is encoded once, and known by its hash.

Axes: R rows, I images of one size in a row, Q tokens of an image, D width, F features that are added after the first
decoder layers.

An update reads a screenshot many times: for log-probabilities, for values, in every epoch, in each window that shows
it, and forwards and backwards. Where the encoder stays as it is, what it says of a screenshot does, too, over updates.
The engine's cache (`tars_jax.inference.image_features`) is another one because it lies on its device, for programs that
read it by place, and every hand-over of weights empties it.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable

import jax
import numpy as np

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Array, Parameters, encode_images
from tars_jax.model.preprocessing import image_key
from tars_jax.training.processes import all_gathered

AT_A_TIME = 32  # screenshots of one call, so that one shape is compiled
MOST = 4096  # screenshots that are kept from update to update; those shown longest ago give way


@functools.cache
def make_encode_fn(model: ModelConfig) -> Callable[[Parameters, Array], jax.Array]:
    """`encode_images`, jitted; caches of one model share it, and what has been compiled."""
    return jax.jit(functools.partial(encode_images, model))


class FrozenImageFeatures:
    """Image features of screenshots by one frozen encoder; all calls bring parameters with the same `vision`."""

    def __init__(self, model: ModelConfig) -> None:
        self._encode = make_encode_fn(model)
        self._known: collections.OrderedDict[bytes, np.ndarray] = collections.OrderedDict()  # [1 + F, Q, D] each
        self.encoded = 0  # screenshots so far

    def get_or_encode(self, parameters: Parameters, images: tuple[Array, ...]) -> np.ndarray:
        """`Inputs.images` of rows, uint8 [R, I, height, width, 3] each, to their features [1 + F, R, I * Q, D]."""
        features = np.concatenate([self._of_size(parameters, each) for each in images], axis=2)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return features

    def _of_size(self, parameters: Parameters, images: Array) -> np.ndarray:
        num_rows, _, *size = images.shape
        flat = np.asarray(images).reshape(-1, *size)
        keys = [image_key(each) for each in flat]
        wanted = dict(zip(keys, flat, strict=True))
        missing = [key for key in wanted if key not in self._known]
        for first in range(0, len(missing), AT_A_TIME):
            some = missing[first : first + AT_A_TIME]
            batch = np.zeros((AT_A_TIME, *size), np.uint8)
            batch[: len(some)] = [wanted[key] for key in some]
            with jax.transfer_guard_host_to_device("allow"):  # to all devices of the encoder
                features = all_gathered(self._encode({"vision": parameters["vision"]}, batch))
            self._known |= {key: features[:, place] for place, key in enumerate(some)}
        self.encoded += len(missing)
        for key in wanted:
            self._known.move_to_end(key)
        found = np.stack([self._known[key] for key in keys], axis=1)
        return found.reshape(found.shape[0], num_rows, -1, found.shape[-1])
