"""The device side of an engine: its arrays there, and the programs that it runs.

Axes: R rows of a batch, T new tokens of a row, Q image tokens of an image.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flax.core import FrozenDict

from tars_jax.inference.batching import prefill_batch, rows_for
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.constraint import Constraints
from tars_jax.inference.image_features import ImageFeatureCache
from tars_jax.inference.scheduler import CacheMove, Request
from tars_jax.inference.serving_weights import check_finite, make_copy_fn
from tars_jax.inference.slot_moves import copy, put, take
from tars_jax.inference.slot_state import SlotState
from tars_jax.inference.slots import Drawn, make_slot_functions
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.model.quantization import is_quantized, quantize_on_mesh
from tars_jax.model.sharding import mesh_of


class Device:
    """The slots of one engine, the images that they have seen, and the programs. One thread at a time uses it, under
    `on_mesh`.
    """

    def __init__(
        self,
        model: ModelConfig,
        parameters: Parameters,
        config: EngineConfig,
        *,
        image: int,
        stop: int,
        seed: int,
        constraints: Constraints | None,
    ) -> None:
        """Arrays on the mesh of `parameters`, which are not kept."""
        self._model, self._config, self._image = model, config, image
        quantized = config.weights == "w4a8"
        self.functions = make_slot_functions(
            model,
            stop=stop,
            chunk=config.chunk,
            base_seed=seed,
            quantized=quantized,
            record_routes=config.record_routes,
            top_logprobs=config.top_logprobs,
        )
        self._starts: dict[str, int] = {}
        self._constraints: Constraints | None = None
        if constraints is not None:
            self.set_constraints(constraints)
        self._mesh = mesh_of(parameters)
        groups = config.groups(model)
        self._hold = make_copy_fn(groups, self._mesh)
        slots = config.slots, config.max_length
        self._state = SlotState.empty(
            model, *slots, self._mesh, groups, penalties=config.penalties, biases=config.biases
        )
        room = max(config.image_cache_tokens, config.max_length)  # the images of any one request fit
        self.bank = ImageFeatureCache(model, room, config.image_buckets, quantized=quantized, mesh=self._mesh)

    def on_mesh(self) -> contextlib.AbstractContextManager[object]:
        """A mesh belongs to a thread; the caller's is not this one's."""
        return contextlib.nullcontext() if self._mesh is None else jax.set_mesh(self._mesh)

    def set_constraints(self, constraints: Constraints) -> None:
        """May be called while another thread reads and decodes: a table comes before the names of its states."""
        # Names are no business of a program, which is known by everything in its arguments that is no array.
        self._constraints = jax.device_put(dataclasses.replace(constraints, start=FrozenDict()))
        self._starts = dict(constraints.start)

    def hold(self, parameters: Parameters) -> Parameters:
        """A copy as the programs take it: the learner may donate its own. An engine of w4a8 quantizes what is not.

        Raises InputError that names the leaves with values that are not finite.
        """
        check_finite(parameters)
        if self._config.weights == "w4a8" and not is_quantized(parameters):
            parameters = quantize_on_mesh(self._model, parameters)
        return self._hold(parameters)

    def read(
        self,
        parameters: Parameters,
        batch: Mapping[int, Request],
        slots: np.ndarray,
        length: int,
        places: Mapping[bytes, np.ndarray],
    ) -> Drawn:
        """Reads the new tokens of requests by slot, padded to [R, T]; the first token of each answer, [R], on the host.

        `places` [Q] are those of each image in the bank.
        """
        new = prefill_batch(
            batch,
            slots,
            length,
            max_length=self._config.max_length,
            image=self._image,
            places=places,
            bank=self.bank.features,
            starts=self._starts,
            biases=self._config.biases,
        )
        self._state, record = self.functions.prefill(parameters, self._state, new, self._constraints)
        drawn: Drawn = jax.device_get(record)
        return drawn

    def decode(self, parameters: Parameters, slots: np.ndarray) -> Drawn:
        """A chunk of the answers in these slots [R]; on the device, as it becomes ready."""
        self._state, record = self.functions.decode(parameters, self._state, slots, self._constraints)
        return record

    def move(self, move: CacheMove) -> None:
        if move.save is not None:
            move.save.blocks = take(self._state, move.slot, move.length)
        elif move.copy is not None:
            self._state = copy(self._state, move.copy, move.slot)
        elif move.restore is not None:
            self._state = put(self._state, move.slot, move.restore.blocks, move.length)

    def warm_up(
        self, parameters: Parameters, image_size: tuple[int, int] | None, on_program: Callable[[int, int], None]
    ) -> None:
        """Runs every program twice without a request: the layout of its result may differ from that of its first
        argument.

        `on_program(done, total)` hears how many have run, first of none.
        """
        budget = jnp.copy(self._state.budget)  # decoding nobody ends the answers of all
        programs = self._programs(parameters, image_size)
        twice = [*programs, *programs]
        on_program(0, len(twice))
        for done, program in enumerate(twice, start=1):
            program()
            jax.block_until_ready(self._state)
            on_program(done, len(twice))
        self._state = dataclasses.replace(self._state, budget=budget)

    def _programs(self, parameters: Parameters, image_size: tuple[int, int] | None) -> list[Callable[[], object]]:
        """Calls of all programs of the device, without a request."""
        config = self._config

        def read(rows: int, length: int) -> None:
            self.read(parameters, {}, rows_for((), (rows,), config.slots), length, {})

        def decode(size: int) -> None:
            self.decode(parameters, np.full(size, config.slots, np.int32))

        def move() -> None:
            self._state = copy(self._state, 0, 0)
            self._state = put(self._state, 0, take(self._state, 0, 1), 1)

        shapes = itertools.product(config.row_buckets, config.length_buckets)
        programs = [functools.partial(read, *shape) for shape in shapes]
        programs += [functools.partial(decode, size) for size in (*config.decode_buckets, config.slots)]
        images = [] if image_size is None else [functools.partial(self.bank.warm_up, parameters, image_size)]
        return [*programs, move, *images]
