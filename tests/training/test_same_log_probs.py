"""Contract 1: the learner's log-probability of every sampled token is the one that the engine recorded.

Real episodes of the nano policy in an environment of random pictures: several at once, windows that grow and fold,
answers of all lengths. What the engine computed token by token in a live cache, in whatever batch, the learner computes
again on packed rows; images, M-RoPE positions, experts and slots all have to be right for the numbers to agree. The
same where the engine is behind a policy server, and what was sampled came over HTTP.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.agent.loop import AgentConfig, play_episode
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Observation, Task, Transition
from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.data_urls import exact
from tars_jax.inference.engine import Engine
from tars_jax.inference.policy_servers import Demands, PolicyServers
from tars_jax.inference.sampling import Sampling
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward, init_parameters
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.players import SessionSource
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.ppo import make_score_fn
from tars_jax.trajectory import Trajectory

TOKENIZER = load_tokenizer()
EPISODES, STEPS = 5, 7
ENGINE = EngineConfig(
    slots=EPISODES,
    max_length=256,
    max_new_tokens=12,
    chunk=5,
    row_buckets=(3,),
    length_buckets=(32, 128),
    record_routes=True,
)


class Readable:
    """The tokenizer, except that most answers can be read: random weights write no grammar."""

    def encode(self, text: str) -> list[int]:
        return TOKENIZER.encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        return "?" if tokens[0] % 5 == 0 else f"Thought: step, {tokens[0]}\nAction: wait()"


class RandomPictures:
    """A new picture of 96x96 random bytes after every action."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def picture(self) -> Observation:
        return Observation.from_pixels(self._rng.integers(0, 256, (96, 96, 3), np.uint8))

    async def step(self, actions: Sequence[object]) -> Transition:
        await asyncio.sleep(float(self._rng.uniform(0, 0.02)))  # so that batches differ
        return Transition(self.picture())


@pytest.fixture(scope="module")
def model() -> ModelConfig:
    return preset("nano", TOKENIZER.vocabulary)


@pytest.fixture(scope="module")
def parameters(model: ModelConfig) -> Parameters:
    return decided_parameters(model)


def decided_parameters(model: ModelConfig) -> Parameters:
    """Random, and far from uniform: answers, experts and the places that attention looks at are all decided."""
    fresh = jax.jit(lambda key: init_parameters(model, key))(jax.random.key(1))
    fresh["vocabulary_head"]["kernel"] *= 2
    fresh["vocabulary_head"]["kernel"] = fresh["vocabulary_head"]["kernel"].at[:, TOKENIZER.end].multiply(2)
    fresh["decoder"]["layers"]["experts"]["router"] *= 5
    fresh["decoder"]["layers"]["attention"]["query_norm"]["scale"] *= 3
    return fresh


@contextlib.contextmanager
def served(engine: Engine, parameters: Parameters, folder: Path) -> Iterator[PolicyServers]:
    """The engine over HTTP, which knows no weights until these are handed over."""
    engine.set_weights(jax.tree.map(jnp.zeros_like, parameters), 7)
    turns = TurnFormat(TOKENIZER, lambda height, width: height * width // 1024)
    stands_behind = Served("nano", engine, TOKENIZER, turns, exact, TOKENIZER.end, parameters, lambda path: parameters)
    config = ServerConfig(port=0, incoming=folder)
    with serving(make_app(stands_behind, config), config) as address:
        demands = Demands(TOKENIZER.vocabulary, TOKENIZER.end, TOKENIZER.image, ENGINE.max_length, routes=True)
        servers = PolicyServers([address], demands, Sampling(max_new_tokens=ENGINE.max_new_tokens))
        servers.set_weights(parameters, 0)
        yield servers


# What the server hands out is what the engine behind it has drawn.
@pytest.fixture(scope="module", params=[pytest.param("engine", marks=pytest.mark.full), "server"])
def trajectories(
    model: ModelConfig, parameters: Parameters, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Trajectory]:
    rows, columns = model.vision.token_grid(96, 96)
    writer = PromptWriter(Readable(), rows * columns)
    memories = [
        MemoryConfig(1, 3),
        MemoryConfig(2, 2),
        MemoryConfig(0, 0, line_tokens=9),
        MemoryConfig(0, 3),
        MemoryConfig(2, 3, line_tokens=5),
    ]

    async def episode(policy: SessionSource, number: int) -> Trajectory:
        environment = RandomPictures(number)
        async with policy.session(number) as session:
            return await play_episode(
                environment,
                environment.picture(),
                session,
                writer,
                AgentConfig(memory=memories[number], max_malformed=STEPS + 1),
                id="same",
                task=Task("same", "pictures", 0, {}, STEPS - number % 2),
                instruction=f"Task {number}: look around.",
            )

    async def play(policy: SessionSource) -> list[Trajectory]:
        return list(await asyncio.gather(*(episode(policy, number) for number in range(EPISODES))))

    with Engine(model, parameters, ENGINE, image=TOKENIZER.image, stop=TOKENIZER.end, seed=0) as engine:
        if request.param == "engine":
            return asyncio.run(play(engine))
        with served(engine, parameters, tmp_path_factory.mktemp("incoming")) as servers:
            return asyncio.run(play(servers))


@pytest.mark.slow
def test_learner_and_engine_agree(model: ModelConfig, parameters: Parameters, trajectories: list[Trajectory]) -> None:
    packed = Packer(model, PackingConfig(256, 8), image=TOKENIZER.image).pack(trajectories, rows_multiple=4)
    rows = packed.rows
    scored = np.asarray(make_score_fn(model)(parameters, rows))
    assert rows.action_mask.sum() == sum(trajectory.num_action_tokens for trajectory in trajectories) > 100
    difference = np.abs(scored - rows.log_probs)[rows.action_mask]
    assert difference.max() < 1e-4
    assert np.median(difference) < 1e-5

    # The same numbers, found by trajectory.
    for number, trajectory in enumerate(trajectories):
        valid = packed.action_valid[number]
        recorded = np.concatenate([window.log_probs[window.action_mask] for window in trajectory.windows])
        np.testing.assert_allclose(scored.ravel()[packed.action_index[number][valid]], recorded, atol=1e-4)


@pytest.mark.slow
def test_recorded_routes_are_the_learners_own(
    model: ModelConfig, parameters: Parameters, trajectories: list[Trajectory]
) -> None:
    """With the same weights nearly all tokens go where the engine sent them; replayed, all of them do.

    With other routers they do not, and replay gives back the experts though not the gates.
    """
    packer = Packer(model, PackingConfig(256, 8), image=TOKENIZER.image)
    free, replayed = (packer.pack(trajectories, rows_multiple=4, routes=replay).rows for replay in (False, True))
    recorded = replayed.inputs.routes
    assert recorded is not None
    known = recorded[..., 0, 0] >= 0
    # All but the last token of each window.
    windows = sum(len(trajectory.windows) for trajectory in trajectories)
    assert known.sum() == (free.inputs.segments > 0).sum() - windows

    chosen = jax.jit(lambda parameters, inputs: jnp.moveaxis(forward(model, parameters, inputs).routers.routes, 0, 2))
    own = np.asarray(chosen(parameters, free.inputs))
    assert (own[known] == recorded[known]).mean() > 0.999
    score = make_score_fn(model)
    again = np.asarray(score(parameters, replayed))
    assert np.abs(again - replayed.log_probs)[replayed.action_mask].max() < 1e-4

    layers = parameters["decoder"]["layers"]
    turned = {**layers["experts"], "router": -layers["experts"]["router"]}
    others = {**parameters, "decoder": {**parameters["decoder"], "layers": {**layers, "experts": turned}}}
    assert (np.asarray(chosen(others, free.inputs))[known] == recorded[known]).mean() < 0.5
    assert (np.asarray(chosen(others, replayed.inputs))[known] == recorded[known]).all()


def test_the_episodes_were_worth_comparing(trajectories: list[Trajectory]) -> None:
    """Folds, unreadable turns, answers that end early and late, and a distribution that is not uniform."""
    assert [len(trajectory.windows) for trajectory in trajectories] == [2, 4, 7, 2, 3]
    steps = [step for trajectory in trajectories for step in trajectory.steps]
    assert {step.valid for step in steps} == {True, False}
    ends = sum((w.tokens[w.action_mask] == TOKENIZER.end).sum() for played in trajectories for w in played.windows)
    assert 0 < ends < len(steps)
    log_probs = np.concatenate([w.log_probs[w.action_mask] for played in trajectories for w in played.windows])
    assert log_probs.mean() > -np.log(TOKENIZER.vocabulary) + 1
    assert log_probs.std() > 0.5
