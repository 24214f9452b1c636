"""The stages as a chain: each an experiment in real Chromium, from the weights that the one before has left.

What they compute is tested where it lives, and in test_main_job.py as one run. Here nothing is compiled: the policy
always says finished(content='1'), and updates change nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import pathlib
import types
from collections.abc import AsyncIterator
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.__main__ import main
from tars_jax.agent.prompts import PromptWriter
from tars_jax.inference.sampling import Sampled
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import init_parameters
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines import ppo_stage, run_context, run_spec, stages, value_stage
from tars_jax.pipelines.agent import STAGES, Evaluated, summary
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.sandbox_counts import counts_since
from tars_jax.rollout import players
from tars_jax.training import learner
from tars_jax.training.checkpoint import Checkpoints, common_ancestors, lineage, save_parameters
from tars_jax.training.learner import EpisodeStream, LearnerState
from tars_jax.training.metrics import read_metrics
from tars_jax.training.state import TrainState, fresh_parameters
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory

TOKENIZER = load_tokenizer()
TINY = (
    "--config.browser.size=32",
    "--config.browser.pages=2",
    "--config.browser.browsers=1",
    "--config.packing.row_length=112",
    "--config.packing.images_per_row=3",
    "--config.engine.max_length=112",
    "--config.engine.max_new_tokens=4",
    "--config.engine.length_buckets=112,",
)
PLAYED = ("--config.task.evaluation_episodes=2", "--config.task.max_steps=2", "--config.task.evaluation_distances=1,4")


class Saying:
    """An engine whose policy has one thing to say."""

    def __init__(self, model: Any, parameters: Any, config: Any, **_: Any) -> None:
        self.config, self.version, self.sessions = config, 0, self
        self.statistics = lambda: types.SimpleNamespace(busy_seconds=0.0, tokens_sampled=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def set_weights(self, parameters: Any, version: int) -> None:
        self.version = version

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[Self]:
        yield self

    async def respond(self, tokens: Any, images: Any, *, restart: bool, sampling: Any = None) -> Sampled:
        said = tuple(TOKENIZER.encode("Action: finished(content='1')<|end|>"))
        return Sampled(said, (-0.5,) * len(said), (self.version,) * len(said))


class Unmoved:
    """A learner whose updates change nothing."""

    def __init__(self, *_: Any) -> None:
        pass

    def init_states(self, policy: Any, value: Any) -> LearnerState:
        return LearnerState(TrainState(policy, (), jnp.int32(0)), TrainState(value, (), jnp.int32(0)))


def nothing_moves(
    _: Any, state: LearnerState, stream: EpisodeStream, seed: int
) -> tuple[LearnerState, dict[str, float]]:
    """An iteration whose update changes nothing."""
    episodes = stream.take().trajectories
    state = dataclasses.replace(state, version=state.version + 1)
    stream.publish(state)
    shown = ("valid", "entropy", "explained_variance", "clip_fraction", "think_tokens", "staleness")
    success = float(np.mean([episode.reward > 0 for episode in episodes]))
    metrics = {"success": success, **dict.fromkeys(shown, 0.0), **stream.metrics()}
    stream.save(state, metrics)
    return state, metrics


def unmoved(*_: Any) -> Any:
    names = ("loss", "accuracy", "value_loss", "explained_variance")
    return lambda state, batch: (state, dict.fromkeys(names, 0.0))


@pytest.fixture
def nothing_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_learning(monkeypatch)


def stop_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    initial = functools.cache(lambda model, mesh: fresh_parameters(model, jax.random.key(0), mesh))
    for module in (run_spec, stages, ppo_stage, value_stage):
        monkeypatch.setattr(module, "fresh_parameters", lambda model, key, mesh: initial(model, mesh))
    monkeypatch.setattr(run_context, "Engine", Saying)
    monkeypatch.setattr(stages, "make_supervised_update", unmoved)
    monkeypatch.setattr(value_stage, "make_value_update", unmoved)
    monkeypatch.setattr(value_stage, "make_value_fn", lambda model: lambda _, rows: np.zeros(rows.log_probs.shape))
    monkeypatch.setattr(ppo_stage, "PPOLearner", Unmoved)
    for module in (ppo_stage, learner):  # an experiment takes it from the latter
        monkeypatch.setattr(module, "iterate", nothing_moves)


@pytest.fixture(scope="module")
def weights(tiny_model: ModelConfig, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Of a tiny model; a screenshot of 32x32 is one token to it."""
    vision = VisionConfig(patch=16, merge=2, grid=2, width=8, depth=1, heads=2, mlp_width=16)
    model = dataclasses.replace(
        tiny_model, depth=1, vocabulary=TOKENIZER.vocabulary, image_token=TOKENIZER.image, vision=vision
    )
    path = tmp_path_factory.mktemp("weights") / "start"
    save_parameters(path, jax.jit(lambda: init_parameters(model, jax.random.key(0)))(), model=model)
    return path


def result_of(run: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "result.json").read_text())
    return found


@pytest.mark.browser
def test_the_chain(
    weights: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, nothing_is_learned: None
) -> None:
    def go(stage: str, start: pathlib.Path, *flags: str, code: int = 0) -> pathlib.Path:
        run = tmp_path / stage
        assert main([stage, f"--config.run={run}", f"--config.model.preset={start}", *TINY, *flags]) == code
        return run

    supervised = ("--config.supervised.updates=2", "--config.supervised.batch_rows=4")
    tuned = go("supervised", weights, *PLAYED, *supervised, "--config.demonstrations.episodes=24")
    said = result_of(tuned)
    assert said["collected"] == 24 > said["imitated"] > 0 and said["solved_among_imitated"] == 1
    assert (tuned / "report.html").exists()

    with monkeypatch.context() as patched:  # attempts that succeed now and then
        reference = players.reference_player(PromptWriter(TOKENIZER, 1), "text", 0.5)
        patched.setattr(run_context.RunContext, "policy_player", lambda _: reference)
        sampling = ("--config.sampling.tasks=6", "--config.sampling.samples=2", "--config.tuning.batch_rows=4")
        sampled = go("rejection_sampling", tuned / "policy", *PLAYED, *sampling)
    assert sum(result_of(sampled)["tasks_solved_by"].values()) == 6
    assert len(list((sampled / "trajectories" / "attempts").glob("*.trajectory"))) == 12

    value = ("--config.value.episodes=10", "--config.value.max_updates=4", "--config.value.evaluate_every=2")
    valued = go("value_pretraining", sampled / "policy", *PLAYED, *value, "--config.value.batch_rows=4")
    assert result_of(valued)["correlation"] == 0 and result_of(valued)["updates"] == 4
    assert result_of(valued)["fitted_to"] == 20 and not result_of(valued)["levelled_off"]
    ppo = ("--config.ppo.updates=2", "--config.ppo.min_batch=4")
    checkpoint = f"--config.value.checkpoint={valued / 'value'}"
    trained = go("reinforcement", sampled / "policy", *PLAYED, *ppo, checkpoint)
    assert result_of(trained)["training_episodes"] == 8
    assert "the value model had not levelled off" in result_of(trained)["value_doubt"]
    assert "The value model had not levelled off" in (trained / "report.html").read_text()
    minutes = result_of(trained)["minutes"]
    # A finished run that is given more goes on; what it was stands beside what it is.
    assert go("reinforcement", sampled / "policy", *PLAYED, *ppo, checkpoint, "--config.ppo.updates=3") == trained
    assert result_of(trained)["training_episodes"] == 12 and result_of(trained)["minutes"] > minutes
    assert len(list((trained / "trajectories" / "after-2").glob("*.trajectory"))) == 2
    assert [row.step for row in read_metrics(trained / "metrics.jsonl") if row.stage == "ppo"] == [1, 2, 3]

    # The reward model learns from what the first stage recorded; it is interrupted as its first update is saved.
    saved = Checkpoints.save

    def interrupted(self: Checkpoints, step: int, tree: Any, extra: dict[str, Any]) -> None:
        saved(self, step, tree, extra)
        if self.folder.name == "ppo":
            raise KeyboardInterrupt

    annotated = ("--config.annotated.verdicts=4", "--config.annotated.updates=2", "--config.annotated.batch_rows=4")
    judging = (*ppo, *annotated, f"--config.trajectories={tuned / 'trajectories' / 'demonstrations_0.8'}")
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "save", interrupted)
        go("reward_model", trained / "policy", *judging, code=130)
    judge = go("reward_model", trained / "policy", *judging)
    said = result_of(judge)
    assert said["annotated"] == 4 and said["training"] % 2 == 0 and said["too_long"] == 0
    # Of 24 levels a quarter is held out; whoever always says 1 finds all that were solved.
    assert said["held_out"] == 6 == said["after"]["true_positives"] + said["after"]["false_positives"]
    page = (judge / "report.html").read_text()
    assert "of 6 held-out trajectories before and" in page
    rows = [row for row in read_metrics(judge / "metrics.jsonl") if row.stage == "ppo"]
    assert [row.step for row in rows] == [1, 2]

    line = [lineage(folder) for folder in (weights, tuned / "policy", sampled / "policy", trained / "policy")]
    assert common_ancestors([lineage(judge / "policy"), line[-1]]) == tuple(each.id for each in line)


@pytest.mark.browser
@pytest.mark.full
def test_episodes_of_another_policy_are_imitated(
    weights: pathlib.Path,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    nothing_is_learned: None,
) -> None:
    """Written for this one, as `evaluate` records them of whoever has no tokens of its own, and marked as such."""
    played = ("--config.names=infinity_loop,", "--config.levels=1,", "--config.episodes=2", "--config.max_steps=3")
    browser = ("--config.browser.browsers=1", "--config.browser.pages=2", f"--config.run={tmp_path / 'their s'}")
    assert main(["evaluate", "--config.checkpoint=reference", *played, *browser]) == 0
    theirs = tmp_path / "their s" / "trajectories" / "played-320x320"
    learned = (
        "--config.supervised.updates=1",
        "--config.supervised.batch_rows=2",
        "--config.demonstrations.episodes=0",
    )
    run = tmp_path / "ours"
    flags = (*TINY, *PLAYED, *learned, f"--config.demonstrations.datasets={theirs},", f"--config.run={run}")
    verdict = "--config.demonstrations.verdict=any"
    assert main(["supervised", f"--config.model.preset={weights}", *flags, verdict]) == 0
    assert "2 of 2 episodes were not written for this policy" in capsys.readouterr().out
    assert result_of(run)["retokenized"] == result_of(run)["imitated"] == 2
    (kept, _) = map(load_trajectory, sorted((run / "trajectories" / "retokenized").glob("*.trajectory")))
    assert kept.metadata["retokenized"] is True
    assert (kept.windows[0].tokens == TOKENIZER.image).sum() == 1  # of 32 pixels, which are one token


def test_what_the_sandbox_went_through_stays_when_a_finished_run_is_resumed() -> None:
    counts = {"launches": 2, "browsers": 2, "failures": {"crash": 1}}
    results = {name: {"success": 0.5, "seconds": 1.0, "consumed": 3, "infrastructure": {}} for name in STAGES}
    for name in ("value", "ppo"):
        results[name]["infrastructure"] = counts
    results["value"] |= {"explained_variance": 0.1, "simulator_explained_variance": 0.2, "lost_episodes": 2}
    results["ppo"]["failed"] = 3
    opened: Any = types.SimpleNamespace(
        run=types.SimpleNamespace(finished=results.get),
        config=types.SimpleNamespace(seed=0),
        rollouts=types.SimpleNamespace(infrastructure={"launches": 0, "browsers": 0, "failures": {}}),
    )
    side = [Trajectory("", {}, (), (), Outcome.FINISHED, 1.0, success=True)]
    told = summary(opened, Evaluated(side, side))
    assert told["lost_episodes"] == 5
    found = told["infrastructure"]
    assert found == {"launches": 4, "browsers": 2, "failures": {"crash": 2}}
    assert counts_since(found, counts) == {"launches": 2, "browsers": 2, "failures": {"crash": 1}}


def test_a_config_says_how_the_model_runs(weights: pathlib.Path) -> None:
    flags = ("model.dtype=bfloat16", "model.execution.remat=full", "model.execution.unroll=2")
    arguments = [f"--config.{each}" for each in (*flags, f"model.preset={weights}")]
    config = load_config("supervised", arguments, root=pathlib.Path(__file__).parents[2], checked=False)
    model = run_context.RunSpec(config).model
    assert (model.dtype, model.execution) == ("bfloat16", Execution(remat="full", unroll=2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reinforcement"], "config.model.preset must be a folder of exported weights"),
        (["reward_model", "--config.model.preset=WEIGHTS"], "config.trajectories must be one or more folders"),
        (
            ["supervised", "--config.games=miniwob/click-button"],
            "demonstrations.episodes must be 0 for games wit",
        ),
        (["import_weights", "--config.source=Qwen/Qwen3-VL-2B-Instruct"], "must be a folder of this machine with"),
        (["value_pretraining", "--config.ppo.updates=3"], "got config.ppo.updates"),
    ],
)
def test_what_a_stage_cannot_use_stops_it_with_a_sentence(
    arguments: list[str], words: str, weights: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argument.replace("WEIGHTS", str(weights)) for argument in arguments]) == 2
    assert words in capsys.readouterr().err
