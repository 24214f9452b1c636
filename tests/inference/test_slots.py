"""The engine's device side against plain forward passes without a cache."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.inference.sampling_state import SamplingState
from tars_jax.inference.slot_moves import copy, put, put_block, take
from tars_jax.inference.slot_state import SlotState
from tars_jax.inference.slots import Prefill, SlotFunctions, make_slot_functions
from tars_jax.model.cache import ORDERS, Cache, Caches
from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import grouped_layers
from tars_jax.model.policy import CacheAddress, Inputs, Output, Parameters, forward, init_parameters
from tars_jax.model.positions import rope_positions

IMAGE = 5
GRID = (2, 3)  # decoder tokens of the pictures below
PICTURE = (16, 24, 3)
LENGTH = 48  # of the cache
SLOTS = 4
ALL = np.arange(SLOTS, dtype=np.int32)
PADDED = 16  # every extension here is padded to this many tokens

Run = tuple[list[int], list[np.ndarray]]


def picture(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, PICTURE, np.uint8)


def image_block() -> list[int]:
    return [IMAGE] * (GRID[0] * GRID[1])


def pack(tokens: list[int], images: list[np.ndarray], start: int, width: int) -> tuple[Inputs, int]:
    """One row of `width` tokens, positions from `start` on; also the next position."""
    size = len(tokens)
    is_image = np.array([token == IMAGE for token in tokens])
    positions, following = rope_positions(is_image, GRID, start)
    image_tokens = np.full((1, width), -1, np.int32)
    image_tokens[0, np.flatnonzero(is_image)] = np.arange(is_image.sum())
    inputs = Inputs(
        tokens=np.pad(np.array([tokens], np.int32), ((0, 0), (0, width - size))),
        positions=np.pad(positions[:, None], ((0, 0), (0, 0), (0, width - size))),
        segments=(np.arange(width) < size).astype(np.int32)[None],
        images=(np.stack(images)[None],) if images else (),
        image_tokens=image_tokens,
    )
    return inputs, following


def stacked(rows: list[Inputs]) -> Inputs:
    return Inputs(
        tokens=np.concatenate([row.tokens for row in rows]),
        positions=np.concatenate([row.positions for row in rows], axis=1),
        segments=np.concatenate([row.segments for row in rows]),
        images=tuple(np.concatenate(each) for each in zip(*(row.images for row in rows), strict=True)),
        image_tokens=np.concatenate([row.image_tokens for row in rows]),
    )


@dataclasses.dataclass
class Context:
    """What the host knows of one slot."""

    slot: int
    length: int = 0
    position: int = 0


@pytest.fixture(scope="module")
def forward_cached(tiny_model: ModelConfig) -> Callable[..., Output]:
    return jax.jit(lambda parameters, inputs, cache, address: forward(tiny_model, parameters, inputs, cache, address))


@pytest.fixture(scope="module")
def uncached(
    tiny_model: ModelConfig, tiny_parameters: Parameters
) -> Callable[[list[int], list[np.ndarray]], np.ndarray]:
    run = jax.jit(lambda inputs: forward(tiny_model, tiny_parameters, inputs).logits)

    def logits(tokens: list[int], images: list[np.ndarray]) -> np.ndarray:
        return np.asarray(run(pack(tokens, images, 0, LENGTH)[0]))[0, : len(tokens)]

    return logits


@pytest.fixture(scope="module")
def append(forward_cached: Callable[..., Output], tiny_parameters: Parameters) -> Callable[..., Any]:
    """Appends runs to contexts in one padded batch of 3 rows: their logits and the new cache."""

    def run(cache: Caches, contexts: list[Context], runs: list[Run]) -> tuple[list[np.ndarray], Caches]:
        rows, write_at, slots = [], np.full((3, PADDED), LENGTH, np.int32), np.full(3, SLOTS, np.int32)
        for row, (context, (tokens, images)) in enumerate(zip(contexts, runs, strict=True)):
            inputs, context.position = pack(tokens, images, context.position, PADDED)
            rows.append(inputs)
            write_at[row, : len(tokens)] = context.length + np.arange(len(tokens))
            slots[row] = context.slot
            context.length += len(tokens)
        rows += [dataclasses.replace(rows[0], tokens=rows[0].tokens + 1)] * (3 - len(rows))
        output = forward_cached(tiny_parameters, stacked(rows), cache, CacheAddress(write_at, slots))
        return [np.asarray(output.logits)[row, : len(tokens)] for row, (tokens, _) in enumerate(runs)], output.cache

    return run


def test_a_second_image_goes_on_from_the_rope_counter(tiny_model: ModelConfig, append: Any, uncached: Any) -> None:
    a, b = [1, 2, *image_block(), 3, 4], [7, *image_block(), 8]
    images = [picture(0), picture(1)]
    context, cache = Context(1), Cache.empty(tiny_model, SLOTS, LENGTH)
    first, cache = append(cache, [context], [(a, images[:1])])
    assert (context.length, context.position) == (10, 2 + 3 + 2)  # six image tokens advance the position by three
    second, _ = append(cache, [context], [(b, images[1:])])
    expected = uncached(a + b, images)
    np.testing.assert_allclose(np.concatenate([*first, *second]), expected, atol=1e-5)

    # With positions that follow the cache length, the appended image would be seen elsewhere.
    wrong = Context(1, length=10, position=10)
    misplaced, _ = append(cache, [wrong], [(b, images[1:])])
    assert np.abs(misplaced[0] - expected[10:]).max() > 1e-3


def test_padding_writes_nothing(tiny_model: ModelConfig, append: Any) -> None:
    full = jax.tree.map(lambda leaf: jnp.full_like(leaf, 7.0), Cache.empty(tiny_model, SLOTS, LENGTH))
    _, cache = append(full, [Context(1, length=4)], [([1, 2, 3], [])])
    written = cache[0].mapped(lambda axes, leaf: np.einsum(f"{axes}->SM", leaf != 7.0))
    for places in (written.keys, written.values):
        assert np.argwhere(places).tolist() == [[1, 4], [1, 5], [1, 6]]


# The jitted functions


def lying(model: ModelConfig, order: str) -> ModelConfig:
    """With a cache whose axes lie in this order."""
    return dataclasses.replace(model, execution=dataclasses.replace(model.execution, cache=order))


def slot_functions(model: ModelConfig, chunk: int = 4) -> SlotFunctions:
    return make_slot_functions(model, stop=3, chunk=chunk, base_seed=0)


def extension(tokens: list[int], slot: int, budget: int = 8, rows: int = 2) -> Prefill:
    inputs, position = pack(tokens, [], 0, PADDED)
    padding = rows - 1

    def column(value: int, fill: int = 0, dtype: Any = np.int32) -> np.ndarray:
        return np.array([value] + [fill] * padding, dtype)

    write_at = np.full((rows, PADDED), LENGTH, np.int32)
    write_at[0, : len(tokens)] = np.arange(len(tokens))
    return Prefill(
        slots=column(slot, SLOTS),
        inputs=stacked([inputs] * rows),
        write_at=write_at,
        last=column(len(tokens) - 1),
        length=column(len(tokens)),
        position=column(position),
        budget=column(budget, budget),
        sampling=dataclasses.replace(SamplingState.fresh(rows), seed=column(11, 0, np.uint32)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("groups", [(2,), pytest.param((1, 1), marks=pytest.mark.full)])
def test_decode_moves_only_the_slots_that_answer(
    groups: tuple[int, ...], tiny_model: ModelConfig, tiny_parameters: Parameters, uncached: Any
) -> None:
    """With both layers in one group, and each in its own."""
    functions, parameters = slot_functions(tiny_model), grouped_layers(tiny_parameters, groups)
    state = SlotState.empty(tiny_model, SLOTS, LENGTH, groups=groups)
    assert len(state.cache) == len(groups)
    state, first = functions.prefill(parameters, state, extension([1, 2, 4], slot=2, budget=4), None)
    before = jax.tree.map(np.asarray, state)
    assert before.budget.tolist() == [0, 0, 3, 0]  # no slot answers for the padding row
    state, record = functions.decode(parameters, state, ALL, None)
    tokens = np.asarray(record.tokens)
    assert (tokens[[0, 1, 3]] == -1).all()
    answer = [int(first.tokens[0]), *tokens[2][tokens[2] >= 0].tolist()]
    assert 3 not in answer[:-1] and (answer[-1] == 3 or len(answer) == 4)

    context = [1, 2, 4, *answer]
    expected = jax.nn.log_softmax(uncached(context, []))
    recorded = [float(first.log_probs[0]), *np.asarray(record.log_probs)[2][: len(answer) - 1]]
    np.testing.assert_allclose(recorded, [expected[2 + i, token] for i, token in enumerate(answer)], atol=1e-5)

    for name in ("length", "position", "budget", "last_token"):
        np.testing.assert_array_equal(np.asarray(getattr(state, name))[[0, 1, 3]], getattr(before, name)[[0, 1, 3]])
    np.testing.assert_array_equal(np.asarray(state.sampling.drawn), [0, 0, len(answer), 0])
    for now, then in zip(state.cache, before.cache, strict=True):
        np.testing.assert_array_equal(np.asarray(now.keys)[:, [0, 1, 3]], then.keys[:, [0, 1, 3]])
    assert int(state.length[2]) == 3 + len(answer) - 1  # the last token is not in the cache yet
    assert int(state.budget[2]) == 0


def memory(model: ModelConfig, groups: tuple[int, ...]) -> tuple[int, dict[str, Any]]:
    """Bytes of a long cache, and what the compiler says of each program that changes it. Shapes are enough."""
    functions = slot_functions(model)
    parameters = jax.eval_shape(lambda: grouped_layers(init_parameters(model, jax.random.key(0)), groups))
    state = jax.eval_shape(lambda: SlotState.empty(model, SLOTS, 4096, groups=groups))
    block = jax.eval_shape(lambda: Cache.empty(model, 1, 256, groups))
    programs: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "extend": (functions.prefill, (parameters, state, extension([1], 0))),
        "decode": (functions.decode, (parameters, state, ALL)),
        "copy": (copy, (state, 0, 1)),
        "put": (put_block, (state, block, 0, 0)),
    }
    found = {name: function.lower(*arguments).compile() for name, (function, arguments) in programs.items()}
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state.cache))
    return size, {name: program.memory_analysis() for name, program in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, pytest.param(False, marks=pytest.mark.full)])
def test_the_cache_is_donated_and_never_copied(together: bool, tiny_model: ModelConfig) -> None:
    """With four times the layers, what is read and written needs no more room; a copy that of one slot at most."""
    depth = tiny_model.depth
    _, small = memory(tiny_model, (depth,) if together else (1,) * depth)
    deep = dataclasses.replace(tiny_model, depth=4 * depth)
    size, large = memory(deep, (4 * depth,) if together else (1,) * 4 * depth)
    for name, analysis in large.items():
        assert analysis.alias_size_in_bytes >= size, name
        if name in ("extend", "decode"):
            assert analysis.temp_size_in_bytes - small[name].temp_size_in_bytes < size / 20, name
        else:
            assert analysis.temp_size_in_bytes <= size / SLOTS, name


@pytest.mark.parametrize("order", ORDERS)
def test_a_slot_moves_to_another_and_to_the_host_and_back(tiny_model: ModelConfig, order: str) -> None:
    """Blocks of 256 tokens, the last of which overlaps the one before."""
    length, used = 600, 590
    state = SlotState.empty(lying(tiny_model, order), 3, length, groups=(1,) * tiny_model.depth)
    leaves, tree = jax.tree.flatten(state.cache)
    assert len(leaves) == 2 * tiny_model.depth
    filled = [jax.random.normal(jax.random.key(seed), leaf.shape) for seed, leaf in enumerate(leaves)]
    cache = jax.tree.unflatten(tree, filled)
    expected = jax.tree.map(np.asarray, cache)
    state = copy(dataclasses.replace(state, cache=cache), 1, 2)
    jax.tree.map(lambda now, then: np.testing.assert_array_equal(now, then[:, [0, 1, 1]]), state.cache, expected)
    blocks = take(state, 1, used)
    sizes = [group.mapped(lambda axes, leaf: leaf.shape[axes.index("M")]) for group, *_ in blocks]
    assert [(each.keys, each.values) for each in sizes] == [(256, 256)] * 3
    assert len(take(state, 1, 256)) == 1
    state = put(state, 0, blocks, used)

    def moved(axes: str, now: jax.Array, then: np.ndarray) -> None:
        begun = (np.einsum(f"{axes}->SMLKH", leaf)[:, :used] for leaf in (now, then))
        np.testing.assert_array_equal(*(leaf[slot] for leaf, slot in zip(begun, (0, 1), strict=True)))

    for now, then in zip(state.cache, expected, strict=True):
        now.mapped(moved, then)
    state = put(state, 2, blocks, 10)  # fewer blocks than there are
    jax.tree.map(lambda now, then: np.testing.assert_array_equal(now[:, 1], then[:, 1]), state.cache, expected)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.first(1)
def test_all_slots_are_read_in_place_as_a_few_are(
    order: str, tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    """Each slot in its row, the rest padding: what is drawn, and the state afterwards, are those of two rows."""
    functions, found = slot_functions(lying(tiny_model, order)), []
    for rows in (2, SLOTS):
        state = SlotState.empty(lying(tiny_model, order), SLOTS, LENGTH)
        for slot, tokens in ((2, [1, 2, 9]), (1, [4, 7])):
            new, place = extension(tokens, slot, rows=rows), slot if rows == SLOTS else 0
            rotated = np.roll(np.arange(rows), place)  # all rows have the same inputs, and one is no padding
            columns = {each.name: getattr(new, each.name) for each in dataclasses.fields(new) if each.name != "inputs"}
            new = dataclasses.replace(new, **jax.tree.map(lambda leaf, rotated=rotated: leaf[rotated], columns))
            state, drawn = functions.prefill(tiny_parameters, state, new, None)
            found.append((drawn.tokens[place], drawn.log_probs[place]))
        found.append(jax.tree.map(np.asarray, state))
    for few, all_of_them in zip(found[:3], found[3:], strict=True):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), few, all_of_them)


@pytest.mark.slow
@pytest.mark.full
def test_a_cache_that_lies_otherwise_is_the_same_cache(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """What was drawn, and what the cache holds then, whatever the order of its axes."""
    found = []
    for order in ORDERS:
        functions = slot_functions(lying(tiny_model, order))
        state = SlotState.empty(lying(tiny_model, order), SLOTS, LENGTH)
        for slot in (1, 3):
            prompt = extension([1, 2, 7 + slot], slot=slot, budget=12)
            state, _ = functions.prefill(tiny_parameters, state, prompt, None)
        state, record = functions.decode(tiny_parameters, state, np.array([3, SLOTS, 1], np.int32), None)
        state, more = functions.decode(tiny_parameters, state, ALL, None)
        cache = state.cache[0].mapped(lambda axes, leaf: np.einsum(f"{axes}->LSKMH", leaf))
        found.append((cache.keys, cache.values, *(np.asarray(leaf) for leaf in jax.tree.leaves((record, more)))))
    assert (np.asarray(found[0][2]) >= 0).any()
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), *found)


def test_a_few_slots_are_decoded_as_all_are(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """Rows in any order, padding between them: the same tokens, the same slots afterwards."""
    functions = slot_functions(tiny_model)
    rows = np.array([3, SLOTS, 1], np.int32)
    found = []
    for slots in (ALL, rows):
        state = SlotState.empty(tiny_model, SLOTS, LENGTH)
        for slot in (1, 3):
            prompt = extension([1, 2, 7 + slot], slot=slot, budget=12)
            state, _ = functions.prefill(tiny_parameters, state, prompt, None)
        state, record = functions.decode(tiny_parameters, state, slots, None)
        found.append((jax.tree.map(np.asarray, record), jax.tree.map(np.asarray, state)))
    (whole, expected), (few, got) = found
    np.testing.assert_array_equal(few.tokens[[2, 0]], whole.tokens[[1, 3]])
    np.testing.assert_allclose(few.log_probs[[2, 0]], whole.log_probs[[1, 3]], atol=1e-5)
    assert (few.tokens[1] == -1).all() and (few.tokens[0] >= 0).any()
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), expected, got)


def test_an_answer_that_is_not_wanted_ends(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    functions = slot_functions(tiny_model)
    state = SlotState.empty(tiny_model, SLOTS, LENGTH)
    for slot in (1, 2):
        state, _ = functions.prefill(tiny_parameters, state, extension([1, 2, 4], slot=slot, budget=12), None)
    state, record = functions.decode(tiny_parameters, state, np.where(ALL == 1, SLOTS, ALL), None)
    assert (np.asarray(record.tokens)[1] == -1).all() and np.asarray(record.tokens)[2, 0] >= 0
    assert state.budget[1] == 0
    _, record = functions.decode(tiny_parameters, state, ALL, None)
    assert (np.asarray(record.tokens)[1] == -1).all()
