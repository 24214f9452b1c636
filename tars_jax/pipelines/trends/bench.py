"""Trends and their bench: agents trained on the device, over seeds, both sides tuned alike.

Axes: N seeds, U updates.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from tars_jax import InputError
from tars_jax.files import write_atomic
from tars_jax.model.policy import Parameters
from tars_jax.pipelines.config import flatten, naming, unflatten
from tars_jax.pipelines.learning_sections import AnnotationPlan
from tars_jax.pipelines.on_device import Curves, OnDevice, Pretrained, games_of
from tars_jax.pipelines.on_device_annotation import AnnotationRounds, Arm
from tars_jax.pipelines.trends.verdicts import Test, TestResult, judge, late
from tars_jax.training.config import RewardConfig
from tars_jax.training.progress import working

# Which returns a value model learns, those of tokens or of turns, of which rewards; and how many there are.
SHAPING = {field.name for field in dataclasses.fields(RewardConfig)} - {"scale", "max_length", "length_cache"}
OF_VALUES = ("ppo.gamma", "ppo.advantages", "ppo.value_models", *(f"reward.{name}" for name in sorted(SHAPING)))
Settings = Mapping[str, Any]  # dotted field of configs/on_device.py -> value


class Trained(NamedTuple):
    """One setting, trained with every seed."""

    curves: Curves  # name -> [N, U]
    policy: Parameters  # stacked over seeds


@dataclasses.dataclass(frozen=True)
class Measured:
    """Measurement of a trend."""

    judgements: tuple[TestResult, ...]  # one for each of its tests, in their order
    curves: Mapping[str, Curves]  # side -> what the figure draws
    chosen: Mapping[str, Settings] = dataclasses.field(default_factory=dict)  # side -> what the search chose
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # further numbers, as JSON


@dataclasses.dataclass(frozen=True)
class Trend:
    """A statement of the report, as tests that were put before anything was run."""

    name: str
    claim: str
    source: str
    tests: tuple[Test, ...]
    measure: Callable[[Bench], Measured]
    shown: tuple[str, ...] = ("success",)  # curves of its figure


class Bench:
    """Trains what a trend asks for, once: what stands in `folder`, made of the same settings and seeds, is read back.

    Args:
      base: a config of configs/on_device.py.
      games: settings of each game, by its name in the trends.
      seeds: of what counts.
      tuning_seeds: of the search, none of which counts.
      search: field -> values; every combination is tried for every side.
      starts: game -> the game whose supervised policies its agents begin with.
      folder: where trainings are kept.
      say: gets a line for everything that was made.
      plan: sizes of annotations; None where nothing is annotated.
    """

    def __init__(
        self,
        base: Any,
        games: Mapping[str, Settings],
        seeds: Sequence[int],
        tuning_seeds: Sequence[int],
        search: Mapping[str, Sequence[Any]],
        folder: Path,
        say: Callable[[str], None] = lambda line: None,
        starts: Mapping[str, str] | None = None,
        plan: AnnotationPlan | None = None,
    ) -> None:
        self._base, self._games, self._search, self._folder, self._say = flatten(base), games, search, folder, say
        self._starts, self._plan = dict(starts or {}), plan
        self.seeds, self.tuning_seeds = tuple(seeds), tuple(tuning_seeds)
        self._check_games()

    def _check_games(self) -> None:
        """Raises InputError for any game that cannot be trained, before others are trained for long."""
        for game, first in self._starts.items():
            if first not in self._games:
                raise InputError(f"config.starts.{game} must be one of {', '.join(self._games)}; got {first!r}")
        for game in self._games:
            fields = self._all(game, None)
            options, parts = fields["game.options"], fields["mixture.parts"]
            if options or parts:  # without, there is nothing to look at, and the game's rules may not be installed
                with naming(f"config.games.{game}.game.options", "game.options"):
                    games_of(fields["game.name"], options, parts)

    @property
    def plan(self) -> AnnotationPlan:
        """Sizes of the annotations."""
        if self._plan is None:
            raise ValueError("plan must be given to a bench that annotates; got None")
        return self._plan

    def setup(self, game: str, settings: Settings | None = None) -> OnDevice:
        """The agent of a game under further settings."""
        return OnDevice(unflatten(self._all(game, settings)))

    def updates(self, game: str) -> int:
        """PPO's, of a training."""
        return int(self._all(game, None)["ppo.updates"])

    def start(self, game: str, seeds: Sequence[int] | None = None) -> Parameters:
        """Supervised policies: what every side begins with."""
        seeds, first = self._seeds(seeds), self._starts.get(game, game)
        return self._once("start", first, None, seeds, (), lambda: self.setup(first).supervised(seeds))

    def value(self, game: str, seeds: Sequence[int] | None = None, settings: Settings | None = None) -> Pretrained:
        """Value models of these policies; of all `settings` those count that say what they learn."""
        seeds = self._seeds(seeds)
        own = {name: each for name, each in (settings or {}).items() if name in OF_VALUES}
        own = {} if set(own) <= {"ppo.advantages"} else own  # at a discount of 1 a turn's returns are its tokens'

        def make(start: Parameters) -> dict[str, Any]:
            found = self.setup(game, own).pretrain_value(start, seeds)
            return {**found._asdict(), "parameters": {str(part): each for part, each in enumerate(found.parameters)}}

        found = self._once("value", game, own, seeds, (lambda: self.start(game, seeds),), make)
        parameters = tuple(found["parameters"][part] for part in sorted(found["parameters"]))
        return Pretrained(**{**found, "parameters": parameters})

    def train(
        self,
        game: str,
        settings: Settings | None = None,
        *,
        pretrained: bool = True,
        seeds: Sequence[int] | None = None,
    ) -> Trained:
        """Reinforcement learning under `settings`; without `pretrained`, from a fresh value head."""
        seeds = self._seeds(seeds)

        def make(start: Parameters, value: Pretrained | None) -> dict[str, Any]:
            curves, policy = self.setup(game, settings).train(start, value, seeds)
            return {"curves": curves, "policy": policy}

        what = "train" if pretrained else "train without value"
        needs = (
            lambda: self.start(game, seeds),
            lambda: self.value(game, seeds, settings) if pretrained else None,
        )
        return Trained(**self._once(what, game, settings, seeds, needs, make))

    def tune(self, game: str, settings: Settings | None = None, *, pretrained: bool = True) -> Settings:
        """`settings` with those values of the search that end best: mean success of the last fifth, tuning seeds."""
        tried = [
            {**(settings or {}), **dict(zip(self._search, values, strict=True))}
            for values in itertools.product(*self._search.values())
        ]
        if len(tried) == 1:
            return tried[0]

        def score(one: Settings) -> float:
            trained = self.train(game, one, pretrained=pretrained, seeds=self.tuning_seeds)
            return float(late(trained.curves["success"]).mean())

        return max(tried, key=score)

    def tuned(
        self, game: str, settings: Settings | None = None, *, pretrained: bool = True
    ) -> tuple[Settings, Trained]:
        """The settings that `tune` chooses, and their training with the seeds that count."""
        chosen = self.tune(game, settings, pretrained=pretrained)
        return chosen, self.train(game, chosen, pretrained=pretrained)

    def annotate(
        self,
        game: str,
        arm: Arm,
        skill: float,
        rate: float,
        seeds: Sequence[int] | None = None,
    ) -> Curves:
        """The rounds of a kind of annotation, from the game's supervised policies on."""
        seeds = self._seeds(seeds)
        written = {
            "arm": dataclasses.astuple(arm),
            "skill": skill,
            "rate": rate,
            "plan": dataclasses.astuple(self.plan),
        }
        settings = {f"annotation.{name}": each for name, each in written.items()}

        def make(start: Parameters) -> Curves:
            return AnnotationRounds(self.setup(game), start, seeds, skill, self.plan).rounds(arm, rate)

        found: Curves = self._once("annotate", game, settings, seeds, (lambda: self.start(game, seeds),), make)
        return found

    def _all(self, game: str, settings: Settings | None) -> dict[str, Any]:
        return {**self._base, **self._games[game], **(settings or {})}

    def _seeds(self, seeds: Sequence[int] | None) -> tuple[int, ...]:
        return self.seeds if seeds is None else tuple(seeds)

    def _once(
        self,
        what: str,
        game: str,
        settings: Settings | None,
        seeds: Sequence[int],
        needs: Sequence[Callable[[], Any]],
        make: Callable[..., Any],
    ) -> Any:
        """Result of `make`, which is called once with what it needs."""
        made_of = json.dumps([what, self._all(game, settings), list(seeds)], sort_keys=True)
        path = self._folder / f"{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.npz"
        if not path.exists():
            given, began = [need() for need in needs], time.monotonic()
            words = [what, game, *(f"{field}={value}" for field, value in (settings or {}).items())]
            with working(f"  {' '.join(words)}"):
                store(path, make(*given))
            self._say(f"{' '.join(words)}: seeds {', '.join(map(str, seeds))}, {time.monotonic() - began:.0f} s")
        return load(path)


def apart(found: Mapping[str, tuple[Settings, Trained]]) -> tuple[dict[str, Settings], dict[str, Curves]]:
    """Splits results of `tuned` for each side into the chosen settings and the curves."""
    chosen = {name: settings for name, (settings, _) in found.items()}
    return chosen, {name: trained.curves for name, (_, trained) in found.items()}


def judged(tests: Sequence[Test], effects: Sequence[Sequence[float] | np.ndarray]) -> tuple[TestResult, ...]:
    """Each test with its effects over seeds."""
    return tuple(judge(test, np.asarray(found).tolist()) for test, found in zip(tests, effects, strict=True))


def store(path: Path, tree: Mapping[str, Any]) -> None:
    """Nested mappings of arrays, whole or not at all; names without a slash."""
    buffer = io.BytesIO()
    np.savez(buffer, **jax.device_get(flatten_dict(tree, sep="/")))
    write_atomic(path, buffer.getvalue())


def load(path: Path) -> dict[str, Any]:
    """The inverse of `store`."""
    with np.load(path, allow_pickle=False) as file:
        return unflatten_dict(dict(file), sep="/")
