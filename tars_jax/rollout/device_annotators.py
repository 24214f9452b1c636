"""Simulated annotators inside a program: the policy plays, a reference player of a given skill looks on and decides.

Axes: E episodes, S steps, P tokens of a prompt, N tokens of an answer at most, T = P + N, B labels of a budget.

At each step the policy proposes an answer, as in the page of interactive annotation with one candidate. A gate says
whether the annotator is asked; who is asked accepts the answer, or writes their own. Every step that they are asked at
costs one human step, accepted or not. What they would decide is recorded at the other steps, too: labels that are
written after the episode come from there.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.envs.on_device.game import DeviceCall, DeviceGame, State
from tars_jax.episodes import EpisodeArrays
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.rollout.device_prompts import EMPTY
from tars_jax.rollout.on_device import DeviceTurn, Memory, Scene, act_in_turn, play, policy_answers


@flax.struct.dataclass
class Annotator:
    """Annotation settings: who is asked when, and what is learned; numbers, so that one program serves every kind."""

    skill: jax.Array | float  # with this probability a step is judged and answered rightly, else by any legal call
    ask_above: jax.Array | float  # uncertainty of an answer, nats a token, at which the annotator is called
    keep_above: jax.Array | float  # and above which they stay: at most `ask_above`
    accepts: jax.Array | bool = True  # a right proposal is taken as it is; else they write each answer themselves
    afterwards: jax.Array | bool = False  # they label all steps of failed episodes, once these are over


class Annotated(NamedTuple):
    """Episodes as they went, and what was decided beside them; true only at steps that were played."""

    episodes: EpisodeArrays
    answers: jax.Array  # [E, S, N] int32: what the annotator decides, asked or not; EMPTY behind its end
    asked: jax.Array  # [E, S] bool: while the episode was played
    right: jax.Array  # [E, S] bool: the policy's answer was
    accepted: jax.Array  # [E, S] bool: the annotator takes it, or would
    uncertainty: jax.Array  # [E, S] float32: nats a token of the policy's answer


def progresses(game: DeviceGame, state: State, acts: DeviceCall, valid: jax.Array) -> jax.Array:
    """[] bool: an answer is right where it solves the task, or brings the end nearer by the simulator's own measure.

    Only for games whose `known` falls with every right step: checklist, corridor, maze.
    """
    after, _, done = act_in_turn(game, state, acts)
    return valid & (game.succeeded(after) | (~done & (game.known(after) < game.known(state))))


def annotated_rollout(
    scene: Scene,
    model: ModelConfig,
    parameters: Parameters,
    annotator: Annotator,
    level_keys: jax.Array,
    key: jax.Array,
    temperature: jax.Array | float = 1.0,
) -> Annotated:
    """One episode for each of `level_keys` [E]; pure, for use under jit.

    The same keys give the same proposals at the same screens, and an annotator who errs at the same steps.
    """
    game, length, count = scene.game, scene.config.max_new_tokens, level_keys.shape[0]
    slots, propose = policy_answers(scene, model, parameters, count, key, temperature)
    shape = (count, scene.config.steps)
    record = {
        "answers": jnp.full((*shape, length), EMPTY, jnp.int32),
        "uncertainty": jnp.zeros(shape),
        **{name: jnp.zeros(shape, bool) for name in ("asked", "right", "accepted")},
    }

    def respond(memory: Memory, turn: DeviceTurn) -> tuple[Memory, jax.Array, jax.Array]:
        slots, here, record = memory
        slots, proposed, log_probs = propose(slots, turn)
        written = proposed != EMPTY
        uncertainty = -jnp.where(written, log_probs, 0.0).sum(1) / jnp.maximum(written.sum(1), 1)
        here = uncertainty > jnp.where(here, annotator.keep_above, annotator.ask_above)

        keys = jax.vmap(jax.random.fold_in, (0, None))(level_keys, 1 + turn.number)
        skill_keys, plan_keys = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
        sees = jax.vmap(jax.random.uniform)(skill_keys) < annotator.skill
        plans = jax.vmap(game.expert)(turn.states, plan_keys, sees.astype(jnp.float32))
        own = jax.vmap(scene.sayings, (0, None))(plans, length)
        read = jax.vmap(scene.parser)(jnp.where(proposed == scene.stop, EMPTY, proposed))
        right = jax.vmap(lambda *each: progresses(game, *each))(turn.states, read.acts, read.valid)
        accepted = sees & right & annotator.accepts
        decided = jnp.where(accepted[:, None], proposed, own)
        theirs = here & ~accepted

        now = {
            "answers": decided,
            "uncertainty": uncertainty,
            "asked": here & turn.alive,
            "right": right & turn.alive,
            "accepted": accepted & turn.alive,
        }
        record = {name: each.at[:, turn.number].set(now[name]) for name, each in record.items()}
        done = jnp.where(theirs[:, None], own, proposed)
        return (slots, here, record), done, jnp.where(theirs[:, None], 0.0, log_probs)

    nobody = jnp.zeros(count, bool)
    episodes, (_, _, record) = play(scene, level_keys, (slots, nobody, record), respond)
    return Annotated(episodes, **record)


def decided_by_person(annotated: Annotated, afterwards: jax.Array | bool, budget: int) -> jax.Array:
    """bool [E, S]: the first `budget` steps that the annotator decides, episode after episode.

    `afterwards`: of failed episodes all steps, else those that they were asked at.
    """
    episodes = annotated.episodes
    failed = episodes.played & ~episodes.succeeded[:, None]
    steps = jnp.where(afterwards, failed, annotated.asked)
    return steps & (jnp.cumsum(steps.ravel()).reshape(steps.shape) <= budget)


def begun(decided: jax.Array) -> jax.Array:
    """bool [E]: the episodes that a budget reached, those with a step `decided` [E, S] and all before the last of
    these."""
    return jnp.flip(jnp.cumsum(jnp.flip(decided.any(1))) > 0)


def switches(held: jax.Array) -> jax.Array:
    """[] int32: how often the annotator took over in episodes of which they `held` [E, S] these steps."""
    before = jnp.pad(held[:, :-1], ((0, 0), (1, 0)))
    return (held & ~before).sum()


def labeled(annotated: Annotated, decided: jax.Array) -> EpisodeArrays:
    """The episodes with the annotator's answers in the place of what was done; only steps `decided` [E, S] count.

    Log-probabilities are 0: of the labels nobody sampled all.
    """
    episodes, answers = annotated.episodes, annotated.answers
    size = episodes.tokens.shape[-1] - answers.shape[-1]
    written = answers != EMPTY

    def answered(prompts: jax.Array, with_answer: jax.Array) -> jax.Array:
        return jnp.concatenate([prompts[..., :size], with_answer.astype(prompts.dtype)], -1)

    return dataclasses.replace(
        episodes,
        tokens=answered(episodes.tokens, jnp.where(written, answers, 0)),
        segments=answered(episodes.segments, written),
        action_mask=answered(jnp.zeros_like(episodes.action_mask), written),
        log_probs=jnp.zeros_like(episodes.log_probs),
        played=decided,
    )
