"""Rollouts inside a program: games, prompts, the engine's own functions and the reading of answers, all traced.

Axes: E episodes, S steps, P tokens of a prompt, N tokens of an answer at most, T = P + N, H, W pixels.

All episodes begin together and take their steps together; one that has ended waits. Its rows are computed, masked,
and left out by the learner. The engine's `prefill` reads the prompts, its `decode` writes the answers: the tokens and
log-probabilities are those that a policy server would have sampled from the same seeds.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.envs.on_device.game import NOTHING, DeviceCall, DeviceGame, State
from tars_jax.episodes import EpisodeArrays
from tars_jax.inference.constraint import FREE, Constraints
from tars_jax.inference.sampling_state import SamplingState
from tars_jax.inference.slot_state import SlotState
from tars_jax.inference.slots import Prefill, make_slot_functions
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs, Parameters
from tars_jax.rollout.device_action_parser import DeviceActionParser
from tars_jax.rollout.device_context import Contexts, Past
from tars_jax.rollout.device_prompts import EMPTY, Prompts, Sayings


@dataclasses.dataclass(frozen=True)
class PlayConfig:
    """Shapes and rules of an episode."""

    steps: int  # S, the step budget
    max_new_tokens: int  # N
    quantized: bool = False  # the parameters are those of `tars_jax.model.quantization.quantize`
    max_malformed: int = 2  # this many unreadable answers in a row end the episode, as in the agent loop


@flax.struct.dataclass
class Scene:
    """A game as its episodes are played inside a program: what the host made for one tokenizer and step budget."""

    game: DeviceGame = flax.struct.field(pytree_node=False)
    config: PlayConfig = flax.struct.field(pytree_node=False)
    stop: int = flax.struct.field(pytree_node=False)  # the token that ends an answer
    prompts: Prompts | Contexts
    sayings: Sayings
    parser: DeviceActionParser


class DeviceTurn(NamedTuple):
    """Inputs of one answer; every field [E, ...]."""

    inputs: Inputs  # [E, P]
    length: jax.Array  # [E] tokens of the prompt
    position: jax.Array  # [E] of the answer's first token
    states: State
    alive: jax.Array  # [E] bool
    number: jax.Array  # of the step


Memory = Any  # of who answers, from step to step
Answer = tuple[Memory, jax.Array, jax.Array]  # memory, tokens [E, N] with EMPTY behind the end, log-probabilities
Respond = Callable[[Memory, DeviceTurn], Answer]


def play(scene: Scene, level_keys: jax.Array, memory: Memory, respond: Respond) -> tuple[EpisodeArrays, Memory]:
    """Plays one episode for each of `level_keys` [E]; pure, for use under jit. `memory` is what `respond` starts with;
    what becomes of it is returned beside the episodes.

    Raises ValueError for a scene whose prompts were made for another step budget.
    """
    game, prompts, config = scene.game, scene.prompts, scene.config
    size, answer_length = prompts.size, config.max_new_tokens
    if prompts.steps != config.steps:
        raise ValueError(f"prompts must be {config.steps}, one for each step; got {prompts.steps}")
    num_episodes = level_keys.shape[0]

    act_in_each = jax.vmap(functools.partial(act_in_turn, game))

    class Carry(NamedTuple):
        states: State
        alive: jax.Array
        malformed: jax.Array
        succeeded: jax.Array
        memory: Memory
        past: Past | None  # what prompts are made of beside the present

    def step(carry: Carry, number: jax.Array) -> tuple[Carry, dict[str, jax.Array]]:
        images = jax.vmap(game.draw)(carry.states)
        prompt = prompts.prompt(carry.past, images, number)
        inputs = Inputs(
            tokens=prompt.tokens,
            positions=jnp.moveaxis(prompt.positions, 1, 0),
            segments=prompt.segments,
            images=(prompt.images,),
            image_tokens=prompt.image_tokens,
        )
        turn = DeviceTurn(inputs, prompt.length, prompt.next_position, carry.states, carry.alive, number)
        memory, tokens, log_probs = respond(carry.memory, turn)
        tokens = jnp.where(carry.alive[:, None], tokens, EMPTY)
        read = jax.vmap(scene.parser)(jnp.where(tokens == scene.stop, EMPTY, tokens))
        states, rewards, done = act_in_each(carry.states, read.acts)
        acts = carry.alive & read.valid
        states = jax.tree.map(lambda new, old: _where(acts, new, old), states, carry.states)
        malformed = jnp.where(read.valid, 0, carry.malformed + 1)
        goes_on = carry.alive & ~(acts & done) & (malformed < config.max_malformed)

        written = tokens != EMPTY
        after = turn.position[:, None] + jnp.arange(answer_length)
        joined = {
            "tokens": jnp.concatenate([inputs.tokens, jnp.where(written, tokens, 0)], 1),
            "positions": jnp.concatenate(
                [prompt.positions, jnp.broadcast_to(after[:, None], (num_episodes, 3, answer_length))], 2
            ),
            "segments": jnp.concatenate([inputs.segments, written.astype(jnp.int32)], 1),
            "image_tokens": jnp.pad(inputs.image_tokens, ((0, 0), (0, answer_length)), constant_values=EMPTY),
            "action_mask": jnp.pad(written, ((0, 0), (size, 0))),
            "log_probs": jnp.pad(jnp.where(written, log_probs, 0.0), ((0, 0), (size, 0))),
        }
        record = joined | {
            "images": images,
            "rewards": jnp.where(acts, rewards, 0.0),
            "played": carry.alive,
            "valid": acts,
            "think_tokens": jnp.where(acts, read.think_tokens, 0),
            "calls": jnp.where(acts, (read.acts.function != NOTHING).sum(1), 0),
            "known": jax.vmap(game.known)(carry.states),
        }
        past = carry.past
        if past is not None:
            past = prompts.remember(past, images, tokens, acts, jax.vmap(game.draw)(states), scene.parser)
        return Carry(states, goes_on, malformed, jax.vmap(game.succeeded)(states), memory, past), record

    states = jax.vmap(game.reset)(level_keys)
    never = jnp.zeros(num_episodes, bool)
    past = prompts.begin(jax.vmap(game.draw)(states))
    start = Carry(states, ~never, jnp.zeros(num_episodes, jnp.int32), never, memory, past)
    last, record = jax.lax.scan(step, start, jnp.arange(config.steps))
    record = {name: jnp.moveaxis(each, 0, 1) for name, each in record.items()}
    return EpisodeArrays(**record, succeeded=last.succeeded, ended=~last.alive, window=prompts.window), last.memory


def act_in_turn(game: DeviceGame, state: State, acts: DeviceCall) -> tuple[State, jax.Array, jax.Array]:
    """The calls of one answer, in their order, until one of them ends the episode: as `DeviceGame.step` answers."""
    first, *others = [jax.tree.map(lambda leaf, at=at: leaf[at], acts) for at in range(game.most_calls)]
    state, reward, done = game.step(state, first)
    for act in others:
        after, gained, ends = game.step(state, act)
        goes_on = ~done & (act.function != NOTHING)
        state = jax.tree.map(lambda new, old, goes_on=goes_on: _where(goes_on, new, old), after, state)
        reward, done = reward + jnp.where(goes_on, gained, 0.0), done | (goes_on & ends)
    return state, reward, done


def _where(chosen: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    """A tree [..., X] with the new leaves where `chosen` [...]; keys are leaves, too."""
    if jnp.issubdtype(new.dtype, jax.dtypes.prng_key):
        data = _where(chosen, jax.random.key_data(new), jax.random.key_data(old))
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(new))
    return jnp.where(chosen.reshape(*chosen.shape, *[1] * (new.ndim - chosen.ndim)), new, old)


def rollout(
    scene: Scene,
    model: ModelConfig,
    parameters: Parameters,
    level_keys: jax.Array,
    key: jax.Array,
    temperature: jax.Array | float = 1.0,
    constraints: Constraints | None = None,
) -> EpisodeArrays:
    """The policy's own episodes, one for each level key; `temperature` 0 is greedy.

    Under `constraints`, which hold one pattern, nothing else is sampled; log-probabilities are then those among what it
    allows.
    """
    start, respond = policy_answers(scene, model, parameters, level_keys.shape[0], key, temperature, constraints)
    return play(scene, level_keys, start, respond)[0]


def policy_answers(
    scene: Scene,
    model: ModelConfig,
    parameters: Parameters,
    num_episodes: int,
    key: jax.Array,
    temperature: jax.Array | float = 1.0,
    constraints: Constraints | None = None,
) -> tuple[SlotState, Respond]:
    """Initial slot state and answer function of the policy, for `play`, as in `rollout`."""
    answer_length = scene.config.max_new_tokens
    size = scene.prompts.size
    room = size + answer_length
    # A cache of one group of layers: a scan over them compiles once, and parameters need no regrouping.
    functions = make_slot_functions(
        model, stop=scene.stop, chunk=max(answer_length - 1, 1), base_seed=0, quantized=scene.config.quantized
    )
    slots = jnp.arange(num_episodes)
    first_state = FREE if constraints is None else next(iter(constraints.start.values()))

    def respond(state: SlotState, turn: DeviceTurn) -> tuple[SlotState, jax.Array, jax.Array]:
        start = size - turn.length[:, None]
        place = jnp.arange(size) - start
        nobody = jax.tree.map(jnp.asarray, SamplingState.fresh(num_episodes))
        sampling = dataclasses.replace(
            nobody,
            seed=jax.random.bits(jax.random.fold_in(key, turn.number), (num_episodes,), jnp.uint32),
            temperature=jnp.full(num_episodes, temperature, jnp.float32),
            state=jnp.full(num_episodes, first_state, jnp.int32),
        )
        new = Prefill(
            slots=slots,
            inputs=turn.inputs,
            write_at=jnp.where(place >= 0, place, room),
            last=jnp.full(num_episodes, size - 1),
            length=turn.length,
            position=turn.position,
            budget=jnp.where(turn.alive, answer_length, 0),
            sampling=sampling,
        )
        state, first = functions.prefill(parameters, state, new, constraints)
        state, rest = functions.decode(parameters, state, slots, constraints)
        tokens = jnp.concatenate([first.tokens[:, None], rest.tokens[:, : answer_length - 1]], 1)
        log_probs = jnp.concatenate([first.log_probs[:, None], rest.log_probs[:, : answer_length - 1]], 1)
        return state, tokens, log_probs

    return SlotState.empty(model, num_episodes, room), respond


def demonstrate(scene: Scene, level_keys: jax.Array, skill: jax.Array | float) -> EpisodeArrays:
    """The expert's episodes, written in the policy's own words; log-probabilities are 0.

    The same level key and skill give the same episode.
    """

    def respond(memory: None, turn: DeviceTurn) -> tuple[None, jax.Array, jax.Array]:
        keys = jax.vmap(jax.random.fold_in, (0, None))(level_keys, 1 + turn.number)
        plans = jax.vmap(scene.game.expert, (0, 0, None))(turn.states, keys, jnp.float32(skill))
        tokens = jax.vmap(scene.sayings, (0, None))(plans, scene.config.max_new_tokens)
        return memory, tokens, jnp.zeros(tokens.shape)

    return play(scene, level_keys, None, respond)[0]
