"""An action parser inside a compiled program: sampled tokens to calls.

Axes: A automata, Q byte states of all automata, V vocabulary, C classes of tokens that do the same from every state,
N tokens of an answer, M calls of an answer at most.

The automata are those of `outlines_core`, over bytes. The first is that of `response_pattern`: an answer that it
accepts is well-formed. For each place that a call may have, one for each function and one for each choice say what is
called there; they stop at nothing else, since the first has judged the rest. A token moves an automaton by all of its
bytes at once, and changes the two numbers of a point in its way: x becomes a x + b.

Read are answers that `parse_response` reads to the same action. Those in other spellings that it reads, too (no space
after a colon, double quotes, more calls than may be, calls that the game does not understand), are rejected here.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.agent.actions import FUNCTIONS, Action
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.pattern import response_pattern
from tars_jax.environment import ActionSpace
from tars_jax.envs.on_device.game import NOTHING, DeviceCall
from tars_jax.inference.constraint import compile_constraints

WELL_FORMED = "well-formed"
EARLIER_LINES = r"(?:[^\n]*\n)*Action: "
POINT = r"\(point='<point>[0-9]+ [0-9]+</point>'\)"
END = 256  # stands for the end of the text among bytes


@flax.struct.dataclass
class ParsedAnswer:
    """One parsed answer."""

    acts: DeviceCall  # [M, ...]; nothing behind the last call
    valid: jax.Array  # [] bool: well-formed
    think_tokens: jax.Array  # [] int32: of its thought


@flax.struct.dataclass
class DeviceActionParser:
    """Tables for one vocabulary, one action space and its choices; row Q is where rejected answers are."""

    token_class: Any  # [V] int32
    following: Any  # [Q + 1, C] int32: byte state behind a token
    factor: Any  # [Q + 1, C, 2] int32: of x and y
    summand: Any  # [Q + 1, C, 2] int32
    accepts: Any  # [Q + 1] bool
    thinks: Any  # [Q + 1] bool: inside a thought
    start: Any  # [A] int32: well-formed, then for each place of a call functions and choices
    functions: int = flax.struct.field(pytree_node=False)
    most_calls: int = flax.struct.field(pytree_node=False)

    def __call__(self, tokens: jax.Array) -> ParsedAnswer:
        """Reads tokens [N] int32, without the one that ends an answer; negative ones are not there."""
        tables = jax.tree.map(jnp.asarray, self)

        def read_one(
            carry: tuple[jax.Array, jax.Array, jax.Array], token: jax.Array
        ) -> tuple[tuple[jax.Array, jax.Array, jax.Array], None]:
            state, numbers, thought = carry
            kind = tables.token_class[token]
            after = tables.following[state, kind]
            changed = numbers * tables.factor[state, kind] + tables.summand[state, kind]
            is_token = token >= 0
            return (
                jnp.where(is_token, after, state),
                jnp.where(is_token, changed, numbers),
                thought + (is_token & tables.thinks[after[0]]),
            ), None

        nothing_read = jnp.zeros((tables.start.size, 2), jnp.int32)
        (state, numbers, thought), _ = jax.lax.scan(read_one, (tables.start, nothing_read, jnp.int32(0)), tokens)
        accepted = tables.accepts[state]
        valid = accepted[0]
        accepted, numbers = accepted[1:].reshape(self.most_calls, -1), numbers[1:].reshape(self.most_calls, -1, 2)

        def called(accepted: jax.Array, numbers: jax.Array) -> DeviceCall:
            function = _which(accepted[: self.functions], valid)
            point = jnp.where(function >= 0, numbers[function], NOTHING)
            return DeviceCall(function, point, _which(accepted[self.functions :], valid))

        return ParsedAnswer(jax.vmap(called)(accepted, numbers), valid, jnp.where(valid, thought, 0))

    def in_thought(self, tokens: jax.Array) -> jax.Array:
        """[N] bool: which of the tokens [N] are of the thought, in an answer that is well-formed."""
        tables = jax.tree.map(jnp.asarray, self)

        def read_one(state: jax.Array, token: jax.Array) -> tuple[jax.Array, jax.Array]:
            after = jnp.where(token >= 0, tables.following[state, tables.token_class[token]], state)
            return after, (token >= 0) & tables.thinks[after]

        return jax.lax.scan(read_one, tables.start[0], tokens)[1]


def _which(accepted: jax.Array, valid: jax.Array) -> jax.Array:
    """[] int32: the index of the one that is true."""
    if not accepted.size:
        return jnp.int32(NOTHING)
    return jnp.where(valid & accepted.any(), jnp.argmax(accepted), NOTHING).astype(jnp.int32)


def compile_action_parser(
    space: ActionSpace, choices: Sequence[Action], tokens: Mapping[int, bytes], most_calls: int = 1
) -> DeviceActionParser:
    """Tables for answers in the text grammar.

    Args:
      space: functions of an SDK, hotkey and finished, and GUI actions that take one point.
      choices: what is told apart of calls without a point; others are NOTHING.
      tokens: the bytes that each token stands for.
      most_calls: M.

    Raises InputError for another GUI action.
    """
    for name in space.actions:
        if _fields(name) not in (["keys"], ["point"], ["content"]):
            raise InputError(f"GUI actions on the device must be hotkey, finished or calls of one point; got {name!r}")
    functions = (*space.actions, *(function.name for function in space.functions))
    pointing = [name for name in space.actions if _fields(name) == ["point"]]
    patterns = {WELL_FORMED: response_pattern("text", space=space, most_calls=most_calls)}
    for number in range(most_calls):
        before = EARLIER_LINES + rf"(?:[^\n]+\n\n){{{number}}}"
        behind = rf"(?:\n\n[^\n]+){{0,{most_calls - 1 - number}}}"
        for name in functions:
            arguments = POINT if name in pointing else r"\([^\n]*\)"
            patterns[f"{number} {name}"] = before + name + arguments + behind
        for choice in choices:
            patterns[f"{number} {format_call(choice)}"] = before + re.escape(format_call(choice)) + behind
    each_byte = {byte: bytes([byte]) for byte in range(END)}
    bytewise = compile_constraints(patterns, each_byte, stop=END, vocabulary=END + 1)
    rejected = len(bytewise.next_state)
    table = np.append(bytewise.next_state[:, bytewise.token_class], np.full((1, END + 1), -1, np.int32), axis=0)
    table = np.where(table < 0, rejected, table)
    table[0] = rejected  # where constraints are free

    place = np.zeros(rejected + 1, np.int32)  # 1 and 2 behind digits of x and of y, 3 where a point begins
    for number, name in itertools.product(range(most_calls), pointing):
        head = "Action: " + "-\n\n" * number + f"{name}(point='<point>"
        first = _run(table, bytewise.start[f"{number} {name}"], head.encode())
        second = _run(table, first, b"0 ")
        place[first], place[_run(table, first, b"0")], place[_run(table, second, b"0")] = 3, 1, 2
    columns = np.zeros((max(tokens) + 1, rejected + 1, 5), np.int32)  # state behind, two factors, two summands
    columns[:, :, 0] = rejected
    for token, written in tokens.items():
        columns[token] = _moved(table, place, written)
    classes, token_class = np.unique(columns, axis=0, return_inverse=True)
    effects = np.moveaxis(classes, 0, 1)
    call = f"{pointing[0]}(point='<point>0 0</point>')" if pointing else format_call(choices[0])
    action = f"\nAction: {call}".encode()
    accepts = table[:, END] != rejected
    thinks = np.array([accepts[_run(table, state, action)] for state in range(rejected + 1)])
    start = np.array([bytewise.start[name] for name in patterns], np.int32)
    return DeviceActionParser(
        token_class.reshape(-1).astype(np.int32),
        effects[..., 0],
        effects[..., 1:3],
        effects[..., 3:],
        accepts,
        thinks,
        start,
        len(functions),
        most_calls,
    )


def _fields(action: str) -> list[str]:
    return [field.name for field in dataclasses.fields(FUNCTIONS[action])] if action in FUNCTIONS else []


def _run(table: np.ndarray, state: int, written: bytes) -> int:
    for byte in written:
        state = table[state, byte]
    return int(state)


def _moved(table: np.ndarray, place: np.ndarray, written: bytes) -> np.ndarray:
    """From every state: the state behind some bytes, and what they make of two numbers (factors, summands)."""
    state = np.arange(len(table))
    factor, summand = np.ones((len(table), 2), np.int32), np.zeros((len(table), 2), np.int32)
    for byte in written:
        state = table[state, byte]
        field = place[state]
        digit = byte - ord("0")
        for number in (0, 1):
            grows, begins = field == number + 1, field == 3
            factor[:, number] = np.where(begins, 0, np.where(grows, 10 * factor[:, number], factor[:, number]))
            grown = np.where(grows, 10 * summand[:, number] + digit, summand[:, number])
            summand[:, number] = np.where(begins, 0, grown)
    return np.concatenate([state[:, None], factor, summand], axis=1)
