"""Agents that are trained inside programs, many seeds side by side: what trends and notebooks call.

    setup = OnDevice(config)                  # a config of configs/on_device.py
    start = setup.supervised(seeds)           # stacked parameters, every leaf [seeds, ...]
    value = setup.pretrain_value(start, seeds)
    curves, policy = setup.train(start, value, seeds)
    found = setup.evaluate(policy, seeds, 200)

`seeds` is a sequence of whole numbers. Curves are dicts of numpy arrays [seeds, updates], evaluations of
[seeds, episodes]. Programs are kept over calls and over setups that differ in numbers only: learning rates, lambdas,
clip bounds, penalties, the verifier's error rates and the like are arguments of a program, as long as they are not 0.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.agent.prompts import PromptWriter
from tars_jax.envs.on_device.catalog import make_game
from tars_jax.envs.on_device.game import DeviceGame
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines import on_device_programs as programs
from tars_jax.pipelines.job_checks import check_update, ppo_config
from tars_jax.pipelines.on_device_programs import Actors, Design, Floats, MixturePart, without
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.sections import decaying, rewards_of, run_as
from tars_jax.rollout.config import ContextConfig
from tars_jax.rollout.device_action_parser import compile_action_parser
from tars_jax.rollout.device_context import Contexts, make_contexts
from tars_jax.rollout.device_prompts import Prompts, make_prompts, make_sayings
from tars_jax.rollout.on_device import PlayConfig, Scene
from tars_jax.training.config import OptimizerConfig
from tars_jax.training.state import TrainState
from tars_jax.training.value_pretraining import levelled

Curves = dict[str, np.ndarray]  # name -> [seeds, updates]
OnPart = Callable[[int, Any, Curves], None]  # updates done, the stage's state, the curves since the last call
LAST = 5  # updates whose mean stands for the end of a curve


@dataclasses.dataclass(frozen=True)
class CompiledStage:
    """A function of `on_device_programs`, and what its arguments are once it has its design and its sizes."""

    function: Callable[..., Any]
    shared: int = 0  # so many at the end are the same for all seeds; those before are stacked
    donates: bool = False  # the first one is used up


START_SUPERVISED = CompiledStage(programs.start_supervised)
SUPERVISE = CompiledStage(programs.supervise, shared=3, donates=True)
START_VALUE = CompiledStage(programs.start_value)
PRETRAIN_VALUE = CompiledStage(programs.pretrain_value, shared=3, donates=True)
START_TRAINING = CompiledStage(programs.start_training)
TRAIN = CompiledStage(programs.train, shared=3, donates=True)
EVALUATE = CompiledStage(programs.evaluate, shared=2)


class Pretrained(NamedTuple):
    """Value models, and how good they were on episodes that they had not seen."""

    parameters: tuple[Parameters, ...]  # stacked; one, or one for each part of a mixture
    curves: Curves
    explained_variance: np.ndarray  # [seeds], over the last updates
    correlation: np.ndarray  # [seeds], of value and return, over the last updates

    @property
    def levelled_off(self) -> tuple[bool, ...]:
        return levelled_off(self.curves)


def levelled_off(curves: Curves) -> tuple[bool, ...]:
    """[seeds]: neither held-out loss nor explained variance was best in one of the last updates."""
    better = zip(-curves["heldout_loss"], curves["heldout_explained_variance"], strict=True)
    return tuple(all(levelled(scores.tolist(), LAST) for scores in each) for each in better)


class OnDevice:
    """An agent's training by one config, which does not change. Raises InputError where fields do not go together."""

    def __init__(self, config: Any) -> None:
        check_update(config.ppo, config.rollout.episodes, "rollout.episodes")
        self._config = config
        tokenizer = load_tokenizer()
        parts = config.mixture.parts or ("",)
        self._games = games_of(config.game.name, config.game.options, parts)
        if any(one == other for one, other in itertools.combinations(self._games, 2)):
            raise InputError(f"mixture.parts must be different ones; got {', '.join(map(repr, parts))}")
        if len({game.size for game in self._games}) > 1:
            raise InputError(f"mixture.parts must have screens of one size; got {[g.size for g in self._games]}")
        self.model = run_as(preset(config.model.preset, tokenizer.vocabulary), config.model)
        self._grid = self.model.vision.token_grid(*self._games[0].size)
        self._writer = PromptWriter(tokenizer, math.prod(self._grid), config.rollout.show_budget)
        self._image = tokenizer.image
        self._sayings = [make_sayings(self._writer, game) for game in self._games]
        self._token_bytes = tokenizer.token_bytes()
        self._parsers = [
            compile_action_parser(game.space, game.choices, self._token_bytes, game.most_calls) for game in self._games
        ]
        self._stop = tokenizer.end
        self._play = PlayConfig(config.game.steps, config.rollout.max_new_tokens)
        self._context = from_section(ContextConfig, config.rollout, tokens=config.rollout.context)
        self._scenes = self._scenes_of(self._play)
        self.design, self._floats = _split(config, self.model)

    @property
    def steps(self) -> int:
        """The step budget of an episode."""
        return self._play.steps

    def shapes(self, seeds: Sequence[int]) -> tuple[Parameters, tuple[Parameters, ...]]:
        """Stacked parameters of the policy and of the value models, without the arrays."""
        policy = jax.eval_shape(self._program(START_SUPERVISED), _array(seeds)).parameters
        values = jax.eval_shape(self._program(START_VALUE), policy, _array(seeds))
        return policy, tuple(value.parameters for value in values)

    def supervised(self, seeds: Sequence[int], on_part: OnPart | None = None) -> Parameters:
        """Policies from scratch on the expert's episodes: stacked parameters."""
        config = self._config.supervised
        state, _ = self._run(SUPERVISE, self.learning(seeds), (), seeds, config.updates, config.part, on_part)
        return state.parameters

    def learning(self, seeds: Sequence[int]) -> TrainState:
        """Initial training state of `learn`: fresh policies."""
        state: TrainState = self._program(START_SUPERVISED)(_array(seeds))
        return state

    def learn(self, state: TrainState, seeds: Sequence[int], done: int, updates: int) -> TrainState:
        """Makes `updates` supervised updates on the expert's episodes, from number `done` on; the state is donated."""
        state, _ = self._run(SUPERVISE, state, (), seeds, done + updates, 0, None, done)
        return state

    def pretrain_value(self, start: Parameters, seeds: Sequence[int], on_part: OnPart | None = None) -> Pretrained:
        """Value models of the fixed policies `start`, which sample each update anew.

        With `value.max_updates` they go on after `value.updates`, a program of `value.part` at a time, until those of
        all seeds have levelled off.
        """
        config = self._config.value
        states = self._program(START_VALUE)(start, _array(seeds))
        states, curves = self._run(PRETRAIN_VALUE, states, (start,), seeds, config.updates, config.part, on_part)
        done = config.updates
        while done < config.max_updates and not all(levelled_off(curves)):
            more = min(done + (config.part or config.updates), config.max_updates)
            states, new = self._run(PRETRAIN_VALUE, states, (start,), seeds, more, config.part, on_part, done)
            curves = {name: np.concatenate([curve, new[name]], axis=1) for name, curve in curves.items()}
            done = more
        last = {name: curve[:, -LAST:].mean(1) for name, curve in curves.items()}
        values = tuple(state.parameters for state in states)
        return Pretrained(values, curves, last["heldout_explained_variance"], last["heldout_correlation"])

    def train(
        self, start: Parameters, value: Pretrained | None, seeds: Sequence[int], on_part: OnPart | None = None
    ) -> tuple[Curves, Parameters]:
        """Reinforcement learning from `start`: curves and stacked parameters.

        Without `value`, value models begin with the policies' trunks and heads that say 0.
        """
        values = None if value is None else value.parameters
        actors, curves = self.improve(self.actors(start, values, seeds), seeds, on_part)
        return curves, actors.policy.parameters

    def actors(self, start: Parameters, values: tuple[Parameters, ...] | None, seeds: Sequence[int]) -> Actors:
        """Initial state of `improve`."""
        if values is None:
            values = tuple(state.parameters for state in self._program(START_VALUE)(start, _array(seeds)))
        return self._program(START_TRAINING)(start, values)

    def improve(
        self, actors: Actors, seeds: Sequence[int], on_part: OnPart | None = None, done: int = 0
    ) -> tuple[Actors, Curves]:
        """The updates of the config from number `done` on; `actors` are those of that moment, and are donated."""
        config = self._config.ppo
        return self._run(TRAIN, actors, (), seeds, config.updates, config.part, on_part, done)

    def evaluate(
        self,
        policy: Parameters,
        seeds: Sequence[int],
        episodes: int,
        max_steps: int | None = None,
        weights: str = "float",
    ) -> dict[str, np.ndarray]:
        """Held-out levels, the same for all seeds: success, reward, steps, think_tokens, valid, each [seeds, episodes].

        `max_steps` is another step budget than the config's; `weights` "w4a8" quantizes the policy.
        """
        steps = self.steps if max_steps is None else max_steps
        scenes = self._scenes_of(dataclasses.replace(self._play, steps=steps, quantized=weights == "w4a8"))
        return jax.device_get(self._program(EVALUATE, episodes)(policy, _array(seeds), scenes, self._floats))

    def apply(self, stage: CompiledStage, *arguments: Any, sizes: tuple[Any, ...] = ()) -> Any:
        """A stage of another file: its stacked arguments, then those that all seeds share, without scenes and floats,
        which are the config's."""
        return self._program(stage, *sizes)(*arguments, self._scenes, self._floats)

    def reference(self, episodes: int) -> float:
        """Success of the player that demonstrations are made with, without its mistakes, on held-out levels."""
        play = jax.jit(functools.partial(programs.reference, self.design, episodes))
        return float(play(self._scenes).mean())

    def _run(
        self,
        stage: CompiledStage,
        state: Any,
        fixed: tuple[Any, ...],
        seeds: Sequence[int],
        updates: int,
        part: int,
        on_part: OnPart | None,
        done: int = 0,
    ) -> tuple[Any, Curves]:
        """A stage in programs of `part` updates, or of all at once where it is 0."""
        parts: list[Curves] = []
        while done < updates:
            size = min(part or updates, updates - done)
            program = self._program(stage, size)
            state, metrics = program(state, *fixed, _array(seeds), jnp.int32(done), self._scenes, self._floats)
            parts.append(jax.device_get(metrics))
            done += size
            if on_part is not None:
                on_part(done, state, parts[-1])
        names = parts[0] if parts else {}
        return state, {each: np.concatenate([found[each] for found in parts], axis=1) for each in names}

    def _program(self, stage: CompiledStage, *sizes: int) -> Any:
        return program_of(self.design, self._config.seeds_by, stage, *sizes)

    def _scenes_of(self, play: PlayConfig) -> tuple[Scene, ...]:
        """One for each part, their prompts padded to one length."""
        prompts = functools.partial(self._prompts, play)
        longest = max(prompts(game.instruction).size for game in self._games)
        of_parts = zip(self._games, self._sayings, self._parsers, strict=True)
        scenes = [
            Scene(game, play, self._stop, prompts(game.instruction, at_least=longest), sayings, parser)
            for game, sayings, parser in of_parts
        ]
        return jax.tree.map(jnp.asarray, tuple(scenes))

    def _prompts(self, play: PlayConfig, instruction: str, at_least: int = 0) -> Prompts | Contexts:
        make: Callable[..., Prompts | Contexts] = make_prompts
        if self._context != ContextConfig(summary_tokens=self._context.summary_tokens):
            make = functools.partial(
                make_contexts, config=self._context, answer=play.max_new_tokens, token_bytes=self._token_bytes
            )
        return make(self._writer, instruction, play.steps, image=self._image, grid=self._grid, at_least=at_least)


def games_of(name: str, options: Sequence[str], parts: Sequence[str]) -> list[DeviceGame]:
    """The game, or one for each part of a mixture. Raises InputError as `make_game` and `game_options` do."""
    return [make_game(name, game_options((*options, *part.split()))) for part in parts or ("",)]


def game_options(written: Sequence[str]) -> dict[str, Any]:
    """("side=6", "interface=gui") as options; raises InputError for anything else."""
    options: dict[str, Any] = {}
    for each in written:
        name, equals, value = each.partition("=")
        if not (equals and name.isidentifier() and value):
            raise InputError(f"game.options must be name=value; got {each!r}")
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[name] = value
    return options


def _parts(mixture: Any) -> tuple[MixturePart, ...]:
    """Raises InputError for weights that are not one for each part."""
    names = tuple(mixture.parts) or ("",)
    weights = tuple(mixture.weights) or (1.0,) * len(names)
    if len(weights) != len(names):
        raise InputError(f"mixture.weights must be {len(names)}, one for each of mixture.parts; got {len(weights)}")
    return tuple(map(MixturePart, names, weights))


def _array(seeds: Sequence[int]) -> jax.Array:
    return jnp.asarray(seeds, jnp.int32)


def _split(config: Any, model: ModelConfig) -> tuple[Design, Floats]:
    """Splits a config into the design, which programs depend on, and the numbers that they take."""
    # Without a lag, episodes are learned from by the policy that sampled them: nothing is stale.
    stale = config.ppo.lag > 0
    ppo, ppo_floats = without(dataclasses.replace(ppo_config(config.ppo), decoupled=config.ppo.decoupled and stale))
    reward, reward_floats = without(rewards_of(config.reward, config.rollout.max_new_tokens))
    numbers: dict[str, dict[str, float]] = {"ppo": ppo_floats, "reward": reward_floats}
    # optax looks at the rate of a decaying schedule when it is made, so this one belongs to the program.
    optimizers = {"supervised": decaying(config.supervised, config.supervised.updates)}
    for name, of in (
        ("value", OptimizerConfig(config.value.learning_rate, weight_decay=config.value.weight_decay)),
        ("policy_optimizer", OptimizerConfig(config.ppo.learning_rate)),
        ("value_optimizer", OptimizerConfig(config.ppo.value_learning_rate)),
    ):
        optimizers[name], numbers[name] = without(of, ("learning_rate",))
    numbers |= {
        "demonstrations": {"skill": config.demonstrations.skill},
        "sampling": {"temperature": config.rollout.temperature},
        "verifier": config.verifier.to_dict(),
    }
    design = Design(
        model=model,
        demonstrations=config.demonstrations.episodes,
        supervised_episodes=config.supervised.episodes,
        supervised_rows=config.supervised.batch_rows,
        router_aux_loss_weight=config.supervised.router_aux_loss_weight,
        value_episodes=config.value.episodes,
        value_rows=config.value.minibatch_rows,
        value_epochs=config.value.epochs,
        episodes=config.rollout.episodes,
        group_size=config.ppo.group_size,
        lag=config.ppo.lag,
        dynamic_sampling=config.ppo.dynamic_sampling,
        ppo=ppo,
        reward=reward,
        parts=_parts(config.mixture),
        **optimizers,
    )
    return design, jax.tree.map(jnp.float32, numbers)


@functools.cache
def program_of(design: Design, seeds_by: str, stage: CompiledStage, *sizes: int) -> Any:
    """A stage for stacked seeds. "map" and "vmap" are one program for all of them; "turns" is one for each, compiled
    once for any number of seeds.
    """
    function = functools.partial(stage.function, design, *sizes)
    donated = 0 if stage.donates else ()
    alone = jax.jit(function, donate_argnums=donated)

    def apart(arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Splits arguments into those that are stacked over seeds and those that all seeds share."""
        count = len(arguments) - stage.shared
        return arguments[:count], arguments[count:]

    def mapped(*arguments: Any) -> Any:
        stacked, rest = apart(arguments)
        return jax.lax.map(lambda one: function(*one, *rest), stacked)

    def in_turns(*arguments: Any) -> Any:
        stacked, rest = apart(arguments)
        seeds = range(jax.tree.leaves(stacked)[0].shape[0])
        found = [alone(*jax.tree.map(lambda leaf, seed=seed: leaf[seed], stacked), *rest) for seed in seeds]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *found)

    def side_by_side(*arguments: Any) -> Any:
        stacked, rest = apart(arguments)
        return jax.vmap(function, (*[0] * len(stacked), *[None] * len(rest)))(*arguments)

    if seeds_by == "turns":
        return in_turns
    return jax.jit({"map": mapped, "vmap": side_by_side}[seeds_by], donate_argnums=donated)
