"""The policy that annotators correct: a run's newest weights, and what its value model expects."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path
from typing import Any

import jax
import pytest

from tars_jax import InputError
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.model.presets import preset
from tars_jax.model.sharding import make_mesh
from tars_jax.pipelines.annotating import _Newer, newest_weights
from tars_jax.pipelines.annotation_value import ExpectedReturn
from tars_jax.training.checkpoint import save_parameters
from tars_jax.training.state import fresh_parameters
from tars_jax.training.value import value_model
from tests.annotation.interactive.corridors import AGENT, UP, WRITER, Said, make, setting, task, turn
from tests.annotation.interactive.test_context import TOKENIZER


def _weights(folder: Path, at: int) -> Path:
    folder.mkdir(parents=True)
    (folder / "checkpoint.json").write_text("{}")
    os.utime(folder / "checkpoint.json", ns=(at, at))
    return folder


def test_of_a_run_the_newest_weights_are_taken(tmp_path: Path) -> None:
    _weights(tmp_path / "supervised", 1)
    policy = _weights(tmp_path / "policy", 2)
    assert newest_weights(tmp_path) == policy and newest_weights(tmp_path / "supervised") == tmp_path / "supervised"
    later = _weights(tmp_path / "cycle-2" / "sft", 3)
    assert newest_weights(tmp_path) == later
    with pytest.raises(InputError, match="config.checkpoint must be"):
        newest_weights(tmp_path / "nothing")


@dataclasses.dataclass
class _Engine:
    version: int = 0
    weights: Any = None

    def set_weights(self, parameters: Any, version: int) -> None:
        self.weights, self.version = parameters, version


def test_newer_weights_are_taken_once_while_people_work(tmp_path: Path) -> None:
    first, engine = _weights(tmp_path / "policy", 1), _Engine()

    def load(folder: Path) -> Any:
        return f"weights of {folder.name}"

    newer = _Newer(engine, tmp_path, first, load)
    asyncio.run(newer.take())
    assert engine.version == 0
    _weights(tmp_path / "later", 2)
    for _ in range(2):
        asyncio.run(newer.take())
        assert (engine.version, engine.weights) == (1, "weights of later")
    os.utime(tmp_path / "later" / "checkpoint.json", ns=(3, 3))  # exported again under the same name
    asyncio.run(newer.take())
    assert engine.version == 2


@pytest.mark.slow
def test_a_value_model_says_what_it_expects_of_an_answer_here(tmp_path: Path) -> None:
    mesh = make_mesh({"data": 1, "fsdp": 1, "expert": 1, "tensor": 1})
    model = value_model(preset("nano", TOKENIZER.vocabulary))
    with jax.set_mesh(mesh):
        fresh = fresh_parameters(model, jax.random.key(0), mesh)
        head = jax.tree.map(lambda leaf: jax.random.normal(jax.random.key(1), leaf.shape), fresh["scalar_head"])
        save_parameters(tmp_path / "value", {**fresh, "scalar_head": head}, model=model)  # a fresh one says 0
    expected = ExpectedReturn(
        tmp_path / "value", WRITER, AGENT, screen=96, longest=256, image=TOKENIZER.image, mesh=mesh
    )

    async def play() -> list[float]:
        of = task(length=6)
        live = await LiveEpisode.begin(setting(Said((UP, turn("left")))), make(of), of, EpisodeWriter("one"), "ada")
        values = []
        for step in range(6):
            await live.settled(60)
            both = [await asyncio.to_thread(expected, live.record, each) for each in live.state.candidates]
            assert both[0] == pytest.approx(both[1], abs=1e-4)  # of the prompt, whatever the answer is
            values.append(both[0])
            live.decide(step, 0, None)
        await live.close()
        return values

    values = asyncio.run(play())
    assert len(values) == 6 and len({round(value, 6) for value in values}) > 1
