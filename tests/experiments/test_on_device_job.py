"""The loop on the device: the same again, and a seed learns the same beside others as alone."""

import functools
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from configs.on_device import get_config
from experiments import on_device
from tars_jax import InputError
from tars_jax.envs.on_device.catalog import make_game
from tars_jax.pipelines.on_device import (
    START_SUPERVISED,
    OnDevice,
    game_options,
    levelled_off,
    program_of,
)
from tars_jax.training.run_directory import RunDirectory


def small() -> Any:
    config = get_config()
    config.game.steps, config.rollout.episodes, config.rollout.max_new_tokens = 2, 6, 8
    config.ppo.update({"updates": 2, "part": 1, "minibatch_rows": 4, "epochs": 1})
    return config


@pytest.fixture(scope="module")
def setup() -> OnDevice:
    return OnDevice(small())


@pytest.fixture(scope="module")
def start(setup: OnDevice) -> Any:
    return jax.tree.map(lambda leaf: jax.random.normal(jax.random.key(leaf.size), leaf.shape), setup.shapes([3, 4])[0])


@pytest.mark.full
@pytest.mark.parametrize("value_models", ["shared", "part"])
def test_a_job_of_two_interfaces_to_its_report(tmp_path: Path, value_models: str) -> None:
    config = small()
    config.seeds, config.game.name, config.game.steps, config.rollout.max_new_tokens = 1, "encyclopedia", 3, 22
    config.mixture.update({"parts": ("interface=gui", "interface=sdk"), "weights": (2.0, 1.0)})
    config.ppo.value_models, config.ppo.normalize_over = value_models, "part"
    config.supervised.update({"updates": 2, "part": 0, "episodes": 3, "batch_rows": 4})
    config.value.update({"updates": 2, "part": 0, "episodes": 3, "minibatch_rows": 4})
    config.evaluation.episodes = 6
    with RunDirectory.create(tmp_path / "run", config.to_dict(), "on_device") as run:
        on_device.run(config, run)
        on_device.run(config, run)  # finished: nothing is made again
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    learned = [line for line in lines if line["stage"] == "ppo"]
    assert len(learned) == 2 and {"interface=gui/success", "interface=sdk/value_correlation", "value_loss"} <= set(
        learned[0]["values"]
    )
    assert "On the device: encyclopedia" in (tmp_path / "run" / "report.html").read_text()


def test_parts_have_their_shares_of_whole_groups() -> None:
    config = small()
    config.mixture.parts, config.mixture.weights = ("most=1", "most=2", "most=3"), (3.0, 2.0, 1.0)
    design = OnDevice(config).design
    np.testing.assert_array_equal(design.parts_of(6), [0, 0, 0, 1, 1, 2])
    np.testing.assert_array_equal(design.parts_of(12, group_size=4), [0] * 4 + [1] * 4 + [2] * 4)
    config.mixture.weights = (1.0,)
    with pytest.raises(InputError, match="mixture.weights must be 3, one for each of mixture.parts; got 1"):
        OnDevice(config)
    config.mixture.parts, config.mixture.weights = ("side=4", "side=6"), ()
    with pytest.raises(InputError, match="mixture.parts must have screens of one size"):
        OnDevice(config)
    most = make_game(config.game.name, game_options(config.game.options)).most  # type: ignore[attr-defined]
    config.mixture.parts = ("", f"most={most}")  # which it is anyway
    with pytest.raises(InputError, match="mixture.parts must be different ones; got '', 'most="):
        OnDevice(config)


@pytest.mark.full
def test_two_updates_are_the_same_again_and_beside_other_seeds(setup: OnDevice, start: Any) -> None:
    first, policy = setup.train(start, None, [3, 4])
    again, _ = setup.train(start, None, [3, 4])
    moved, elsewhere = setup.train(jax.tree.map(lambda leaf: leaf[::-1], start), None, [4, 7])
    assert all(curve.shape == (2, 2) and np.isfinite(curve).all() for curve in first.values())
    for name, curve in first.items():
        np.testing.assert_array_equal(curve, again[name], err_msg=name)
        np.testing.assert_allclose(curve[1], moved[name][0], rtol=1e-3, atol=1e-5, err_msg=name)
    assert (first["reward"][0] != moved["reward"][1]).any() or (first["entropy"][0] != moved["entropy"][1]).any()
    close = functools.partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-5)
    jax.tree.map(lambda here, there: close(here[1], there[0]), policy, elsewhere)
    assert {"success", "reward", "entropy", "think_tokens", "clip_low_fraction", "value_correlation"} <= set(first)


@pytest.mark.full
def test_seeds_in_turns_and_at_once_are_the_same(setup: OnDevice) -> None:
    ways = [
        program_of(setup.design, way, START_SUPERVISED)(np.array([3, 4])).parameters for way in ("map", "vmap", "turns")
    ]
    for other in ways[1:]:
        jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6), ways[0], other)
    embedding = ways[0]["embed"]["embedding"]
    assert embedding.shape[0] == 2 and (embedding[0] != embedding[1]).any()


@pytest.mark.full
def test_value_models_go_on_until_those_of_all_seeds_have_levelled_off(start: Any) -> None:
    config = small()
    config.value.update({"updates": 2, "part": 2, "episodes": 4, "minibatch_rows": 4, "max_updates": 30})
    found = OnDevice(config).pretrain_value(start, [3, 4])
    updates = found.curves["heldout_loss"].shape[1]
    assert all(found.levelled_off) or updates == 30
    assert updates > 6 and updates % 2 == 0  # levelling off takes five updates that were no better
    earlier = {name: curve[:, : updates - 2] for name, curve in found.curves.items()}
    assert not all(levelled_off(earlier))
    config.value.max_updates = 0
    as_many = OnDevice(config).pretrain_value(start, [3, 4]).curves
    assert as_many["heldout_loss"].shape == (2, 2)
    np.testing.assert_array_equal(as_many["heldout_loss"], found.curves["heldout_loss"][:, :2])


@pytest.mark.slow
def test_the_reference_player_makes_no_mistakes_and_takes_its_steps() -> None:
    config = get_config()
    config.demonstrations.skill = 0.0
    assert OnDevice(config).reference(32) == 1.0
    config.game.steps = 1
    assert OnDevice(config).reference(32) < 1.0


def test_numbers_are_arguments_of_the_same_program(setup: OnDevice) -> None:
    other = small()
    other.ppo.learning_rate, other.ppo.clip_low, other.verifier.false_positive = 1e-4, 0.1, 0.5
    assert OnDevice(other).design == setup.design
    other.ppo.entropy_bonus = 0.1  # it was off
    assert OnDevice(other).design != setup.design


def test_groups_need_members() -> None:
    config = small()
    config.ppo.advantages = "group"
    with pytest.raises(InputError, match="ppo.group_size must be at least 2 with ppo.advantages=group"):
        OnDevice(config)
    config.ppo.group_size = 4
    with pytest.raises(InputError, match="ppo.group_size must be a divisor of rollout.episodes, 6; got 4"):
        OnDevice(config)


def test_options_of_a_game() -> None:
    assert game_options(("side=6", "long_thoughts=.5")) == {"side": 6, "long_thoughts": 0.5}
    with pytest.raises(InputError, match="game.options must be name=value; got 'side'"):
        game_options(("side",))


@pytest.mark.full
def test_with_a_lag_earlier_policies_play(setup: OnDevice, start: Any) -> None:
    """Before each update the queue holds the policies of the last two; the oldest plays."""
    config = small()
    config.ppo.lag = 2
    lagging = OnDevice(config)
    met: list[tuple[Any, Any]] = []

    def on_part(done: int, actors: Any, curves: Any) -> None:
        met.append(jax.device_get((actors.policy.parameters, actors.earlier)))

    curves, _ = lagging.train(start, None, [3, 4], on_part)
    fresh, _ = setup.train(start, None, [3, 4])
    np.testing.assert_allclose(curves["reward"][:, 0], fresh["reward"][:, 0])  # nothing is stale yet
    np.testing.assert_allclose(curves["importance"][:, 0], 1, atol=1e-3)
    assert (np.abs(curves["importance"][:, 1] - 1) > 1e-4).all()
    first, (_, queue) = met[0][0], met[1]
    same = functools.partial(np.testing.assert_array_equal)
    jax.tree.map(lambda begun, learned, kept: same(kept, np.stack([begun, learned], 1)), start, first, queue)
