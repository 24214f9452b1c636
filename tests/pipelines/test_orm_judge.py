"""The reward model of an earlier run as the judge `orm`: real engines, and one that says what it is told."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import math
import pickle
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar, Self

import jax
import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.inference.sampling import Sampled
from tars_jax.judges import Judgement, JudgeUnavailable, UnreadableVerdict
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import init_parameters
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines import judges
from tars_jax.pipelines.agent import Evaluated, judged_beside_true
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.judges import named_judge, open_judge
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import reference_player
from tars_jax.training.checkpoint import lineage, save_parameters
from tars_jax.trajectory import Trajectory
from tests.judges.episodes import episode, task

ROOT = Path(__file__).parents[2]
TOKENIZER = load_tokenizer()
WRITER = PromptWriter(TOKENIZER, 1, max_observation_tokens=16)
SIZES = ("packing.row_length=96", "engine.max_length=96", "engine.length_buckets=96,", "browser.pages=2")
ECHO = "tars_jax.envs.examples.text_echo:TextEcho"


@pytest.fixture(scope="module")
def trained(tiny_model: ModelConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RUN/policy as `reward_model` leaves it; with weights that know nothing."""
    vision = VisionConfig(patch=16, merge=2, grid=2, width=8, depth=1, heads=2, mlp_width=16)
    model = dataclasses.replace(
        tiny_model, depth=1, vocabulary=TOKENIZER.vocabulary, image_token=TOKENIZER.image, vision=vision
    )
    run = tmp_path_factory.mktemp("orm run")
    config = load_config("reward_model", [f"--config.{each}" for each in SIZES], root=ROOT, checked=False)
    (run / "config.json").write_text(json.dumps({"experiment": "reward_model", "config": config.to_dict()}))
    save_parameters(run / "policy", jax.jit(lambda: init_parameters(model, jax.random.key(0)))(), model=model)
    return run / "policy"


def options(checkpoint: Path, **more: Any) -> str:
    return json.dumps({"checkpoint": str(checkpoint), **more})


class Telling:
    """An engine that remembers the questions, and finds success where nobody said blue."""

    made: ClassVar[list[Telling]] = []

    def __init__(self, model: Any, parameters: Any, config: Any, **_: Any) -> None:
        self.config, self.asked, self.open = config, list[str](), 0
        self.made.append(self)

    def __enter__(self) -> Self:
        self.open += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.open -= 1

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[Self]:
        yield self

    async def respond(self, tokens: Any, images: Any, *, restart: bool, sampling: Any = None) -> Sampled:
        self.asked.append(TOKENIZER.decode(tokens))
        verdict = int("'blue'" not in self.asked[-1])
        said = tuple(TOKENIZER.encode(f"Thought: 2 steps\nAction: finished(content='{verdict}')<|end|>"))
        return Sampled(said, (-0.5,) * len(said), (0,) * len(said))


@pytest.mark.slow
def test_it_is_the_only_reward_and_the_truth_stays_beside_it(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judges, "Engine", Telling)
    judge = pickle.loads(pickle.dumps(named_judge("orm", options(trained), "config.task")))  # as it goes to other hosts
    tasks = [Task(f"t{seed}", ECHO, seed, {}, 4) for seed in range(6)]
    with Rollouts(None, WRITER, AgentConfig(), 2, judge=judge) as rollouts:
        played = rollouts.play(tasks, reference_player(WRITER, "text", 0.3), tmp_path)
    (engine,) = Telling.made
    assert engine.open == 1 and len(engine.asked) == 6
    assert "Say the word.\nword: " in engine.asked[0] and engine.asked[0].endswith("over\n1 or 0?\n<|agent|>")
    for each in played:
        blue = any("'blue'" in step.action for step in each.steps)
        assert each.reward == float(not blue) == each.steps[-1].reward and each.success is not blue
        words = [step.info["state"]["word"] for step in each.steps]
        right = all(f"'{word}'" in step.action for word, step in zip(words, each.steps, strict=True))
        assert each.verified_success is right is each.metadata["environment_success"]
        assert each.metadata["environment_reward"] == sum(
            f"'{word}'" in step.action for word, step in zip(words, each.steps, strict=True)
        )
    assert {each.success == each.verified_success for each in played} == {True, False}
    assert {each.metadata["judge_version"] for each in played} == {lineage(trained).id[:12]}
    judge.close()
    judge.close()
    assert engine.open == 0


@pytest.mark.slow
def test_its_score_becomes_a_probability_and_a_threshold_of_it_the_verdict(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sure of 1 by .6 to .2, which is .75: odds of 3. With slope 1 and intercept -ln 9 they are 1/3."""
    one, zero = (TOKENIZER.encode(digit)[0] for digit in "10")

    class Doubting(Telling):
        async def respond(self, tokens: Any, images: Any, *, restart: bool, sampling: Any = None) -> Sampled:
            found = await super().respond(tokens, images, restart=restart, sampling=sampling)
            assert sampling.top_logprobs == self.config.top_logprobs == 20
            beside = ((one, math.log(0.6)), (zero, math.log(0.2)))
            return dataclasses.replace(found, likeliest=(beside,) * len(found.tokens))

    monkeypatch.setattr(judges, "Engine", Doubting)

    def said(**more: Any) -> tuple[Judgement, str]:
        judge = named_judge("orm", options(trained, **more), "config.task")
        try:
            return asyncio.run(judge.judgement(episode([("word: red", "wait()")]), task("Say it."))), judge.version
        finally:
            judge.close()

    plain = lineage(trained).id[:12]
    assert said() == ((pytest.approx(0.75), True), plain)
    assert said(reward="verdict")[0] == (1.0, True) and said(threshold=0.8)[0] == (pytest.approx(0.75), False)
    file = trained.parent / "calibration.json"
    file.write_text(json.dumps({"slope": 1.0, "intercept": -math.log(9)}))
    try:
        found, version = said()
        assert found == (pytest.approx(0.25), False) and version.startswith(f"{plain}-")
        assert said(reward="verdict")[0] == (0.0, False) and said(threshold=0.2)[0] == (pytest.approx(0.25), True)
    finally:
        file.unlink()
    for wrong, words in (
        ({"reward": "sum"}, "reward must be one of score, verdict"),
        ({"threshold": 0}, "more than 0"),
    ):
        with pytest.raises(InputError, match=words):
            said(**wrong)


@pytest.mark.slow
def test_a_model_that_says_nothing_or_cannot_read_the_episode_is_no_zero(trained: Path) -> None:
    judge = dataclasses.replace(named_judge("orm", options(trained, slots=1), "config.task"), attempts=1)
    try:
        with pytest.raises(UnreadableVerdict, match="reward model must say 1 or 0; got .*, the last of 3 answers"):
            asyncio.run(judge.judgement(episode([("word: red", "wait()")]), task("Say it.")))
        with pytest.raises(JudgeUnavailable, match="reads at most 84 tokens; got [0-9]+ of made"):
            asyncio.run(judge.judgement(episode([("word: red", "wait()")] * 20), task("Say it.")))
        with Rollouts(None, WRITER, AgentConfig(), 1, judge=judge) as rollouts:
            assert (
                rollouts.play([Task("t", ECHO, 0, {}, 4)], reference_player(WRITER, "text", 1.0), trained.parent) == []
            )
    finally:
        judge.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "options of judge 'orm' must be checkpoint, slots"),
        (
            '{"checkpoint": "nowhere/policy"}',
            "checkpoint must be RUN/policy of a reward_model run; got 'nowhere/policy'",
        ),
        ('{"checkpoint": ""}', "checkpoint must be RUN/policy of a reward_model run; got ''"),
        ("[1]", r"config.task.judge_options must be a JSON object; got '\[1\]'"),
        ("{", "config.task.judge_options must be a JSON object; got '{'"),
    ],
)
def test_options_that_it_does_not_have(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        named_judge("orm", text, "config.task")


def test_slots_and_no_judge(trained: Path) -> None:
    with pytest.raises(InputError, match="slots must be a whole number of 0 or more; got -1"):
        named_judge("orm", options(trained, slots=-1), "config.task")
    config: Any = {"task": {"judge": "", "judge_options": "{}"}}
    assert open_judge({}) is None and open_judge(_Config(config)) is None
    config["task"]["judge_options"] = '{"checkpoint": "x"}'
    with pytest.raises(InputError, match="config.task.judge must name the judge of judge_options; got ''"):
        open_judge(_Config(config))


class _Config(dict[str, Any]):
    """As ml_collections has it: fields are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def test_the_result_says_how_many_were_really_solved() -> None:
    """Judged 1 of 2, then 2 of 2; really 1 of 2, then none."""

    def played(judged: bool, true: bool | None) -> Trajectory:
        return dataclasses.replace(episode([], success=judged), metadata={"environment_success": true})

    before, after = [played(True, True), played(False, False)], [played(True, False)] * 2
    found = judged_beside_true(Evaluated(before, after))
    assert found["true_score"]["before"]["value"] == 0.5 and found["true_score"]["after"]["value"] == 0
    assert found["judge"]["before"]["f1"] == 1 and found["judge"]["after"]["false_positive_rate"] == 1
    assert judged_beside_true(Evaluated(before, [played(True, None)])) == {}
