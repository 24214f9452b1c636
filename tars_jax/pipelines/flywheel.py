"""The data flywheel (UI-TARS-2, 2.3): the model makes the data of the next model.

Cycle 0, the cold start: demonstrations and recorded data, CT, SFT. Each cycle t after it:

1. generate: the latest model attempts fresh tasks several times each; corrected episodes of annotation join them;
2. judge: each episode has the verdict of its environment or judge, V in {0, 1};
3. route: V = 1 to the SFT data, V = 0 to the CT data (`tars_jax/data/store/routing.py`), also what RL and the value
   model of the cycle before have played, and what was judged anew since;
4. train: CT every few cycles, most of it text, SFT, value model and PPO, each from the weights of the one before;
5. recycle: what the last two have played enters the store;
6. evaluate: after each stage on the same held-out tasks;
7. keep: the new model, the one before or their merge, by other held-out tasks.

A cycle is a run directory of its own, RUN/cycles/0001, so its stages go on where a killed run stopped; what it has made
goes into the store, where everything is taken in once, however often it is added.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.data.datasets import read_dataset
from tars_jax.data.rejection_sampling import KeepRule, by_task, select_successes
from tars_jax.data.store import Origin, Store
from tars_jax.data.store.feed import StoredEpisodes
from tars_jax.data.store.routing import CT, RECYCLED, SFT, Routed, batch_of, changed, route
from tars_jax.data.store.verdicts import Verdict
from tars_jax.data.tutorials import SITE
from tars_jax.pipelines.cycle_tasks import CycleTasks
from tars_jax.pipelines.datasets import recorded_for
from tars_jax.pipelines.job_checks import ppo_config
from tars_jax.pipelines.ppo_stage import run_ppo
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.stages import collect, evaluate, supervise
from tars_jax.pipelines.starting_weights import start_from
from tars_jax.pipelines.task_sources import load_task_source, place_of, with_listed
from tars_jax.pipelines.training_sets import draw_training_set, in_rows, learned_tokens, mixture
from tars_jax.pipelines.value_stage import pretrain
from tars_jax.pipelines.windows import fill_recorded_sizes
from tars_jax.training.checkpoint import copy_export, lineage
from tars_jax.training.merge_checkpoints import merge_checkpoints
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import load_trajectory

STORE, MODEL = "store", "model"
CYCLE = "{cycle}"  # in the name of a dataset: the number of the cycle that it belongs to
LOSS_ON = {CT: "text", SFT: "agent"}  # of each set
Texts = Mapping[str, Sequence[Trajectory]]  # by the name of their dataset
Solved = tuple[int, int]  # episodes with V = 1, and those that somebody has judged


@dataclasses.dataclass(frozen=True)
class Cycle:
    """Result of one cycle, as JSON can hold it."""

    number: int
    routed: dict[str, int]  # as `Routed`
    datasets: dict[str, int]  # episodes of the sets after it
    mixtures: dict[str, dict[str, dict[str, int]]]  # stage -> source -> episodes and tokens that it learned from
    recycled: dict[str, int]  # episodes of RL and of the value model that entered the store, by stage, and left_out
    scores: dict[str, Solved]  # stage -> solved, played of the reported held-out tasks
    places: dict[str, dict[str, Solved]]  # "generated" and "held_out" -> site or environment -> solved, judged
    kept: str  # new, previous or merged
    weights: str  # id of the model that it leaves
    ancestors: tuple[str, ...]
    shown: str  # the stage whose episodes are those of that model
    seconds: float

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Cycle:
        scores = {name: tuple(score) for name, score in record["scores"].items()}
        places = {
            part: {place: tuple(score) for place, score in found.items()} for part, found in record["places"].items()
        }
        return cls(**{**record, "scores": scores, "places": places, "ancestors": tuple(record["ancestors"])})

    @property
    def generated(self) -> Solved:
        """Episodes with V = 1, and those with a verdict."""
        return self.routed["solved"], self.routed["solved"] + self.routed["failed"]


@dataclasses.dataclass(frozen=True)
class FlywheelResult:
    """All cycles, and the held-out episodes of the first and the last model."""

    config: Any  # as it ran
    cycles: list[Cycle]
    before: list[Trajectory]
    after: list[Trajectory]
    leaked: int  # training episodes of a held-out task
    alike: int  # those that begin exactly as a held-out one
    changed: int  # routed episodes whose verdict became another one afterwards; the next cycle would move them


def run_flywheel(config: Any, run: RunDirectory) -> FlywheelResult:
    """The cold start and `config.cycles` cycles; RUN/cycles/N/model is the model after cycle N."""
    config = with_listed(config)
    for section in ("demonstrations", "annotation"):  # taken in later, and known to be there before anything is played
        for name in config[section].datasets:
            if CYCLE not in name:
                next(read_dataset(name, f"config.{section}.datasets"), None)
    spec = RunSpec(config)
    source = load_task_source(config.tasks, spec.config)
    held_out = source.held_out(config.task.evaluation_episodes + config.keep.episodes)
    texts = _texts(spec, {place_of(task.to_json()) for task in held_out})
    config = _holding(config, spec, _all(texts))
    cycles: list[Cycle] = []
    with Store(run.path / STORE, create=True) as store:
        store.hold_out(held_out)
        _require_trainable(store, _all(texts))
        for number in range(config.cycles + 1):
            if (done := run.finished(batch_of(number))) is None:
                sub = RunDirectory.create(cycle_folder(run.path, number), _cycle_config(config), "flywheel")
                with sub, RunContext(config, sub, shapes=spec.shapes, page_at=run.path) as context:
                    tasks = CycleTasks(source, number, held_out, config.task.evaluation_episodes)
                    done = dataclasses.asdict(_Cycle(context, tasks, store, number, run.path, texts, spec).run())
                run.finish(batch_of(number), done)
            cycles.append(Cycle.from_json(done))
        before, after = (_shown(run.path, cycle) for cycle in (cycles[0], cycles[-1]))
        moving = 0 if config.control == "no_routing" else len(changed(store))
        return FlywheelResult(
            config, cycles, before, after, len(store.leaked()), len(store.same_first_screens()), moving
        )


def _texts(spec: RunSpec, held_out: Collection[str]) -> Texts:
    """Text-only data, in pieces that fit a row; without tutorials of the websites of held-out tasks."""
    row = spec.config.packing.row_length
    read = {name: recorded_for(spec, [name], "config.text.datasets") for name in spec.config.text.datasets}
    return {
        name: [in_rows(each, row) for each in found if each.metadata.get(SITE) not in held_out]
        for name, found in read.items()
    }


def _holding(config: Any, spec: RunSpec, texts: Sequence[Trajectory]) -> Any:
    """The config with room for texts. Answers stay as long as those of the tasks: nobody plays a text."""
    config = config.copy_and_resolve_references()
    config.engine.max_new_tokens = spec.config.engine.max_new_tokens
    return fill_recorded_sizes(config, spec.writer, spec.shapes, texts)


def _all(texts: Texts) -> list[Trajectory]:
    return [each for found in texts.values() for each in found]


def _require_trainable(store: Store, texts: Sequence[Trajectory]) -> None:
    """Texts are trained on without being in a set. Raises InputError where one is of a held-out task."""
    if held_out := [each for each in texts if store.holds_out(each.task)]:
        raise InputError(
            f"config.text.datasets must hold no held-out task; got {len(held_out)} episodes of such, "
            f"the first {held_out[0].id}"
        )


def _shown(run: Path, cycle: Cycle) -> list[Trajectory]:
    """The held-out episodes of the model that a cycle left."""
    folder = cycle_folder(run, cycle.number) / "trajectories" / cycle.shown
    return [load_trajectory(file) for file in sorted(folder.glob("*.trajectory"))]


def cycle_folder(run: Path, number: int) -> Path:
    return run / "cycles" / f"{number:04d}"


def _cycle_config(config: Any) -> Mapping[str, Any]:
    """Config of a cycle's run directory; the number of cycles is no part of it."""
    found: dict[str, Any] = config.to_dict()
    return {**found, "cycles": 0}


def _by_place(episodes: Iterable[Trajectory]) -> dict[str, Solved]:
    """Solved and judged episodes of each website or environment."""
    solved, judged = collections.Counter[str](), collections.Counter[str]()
    for each in episodes:
        if each.success is not None:
            judged[place_of(each.task)] += 1
            solved[place_of(each.task)] += each.success
    return {place: (solved[place], judged[place]) for place in sorted(judged)}


class _Cycle:
    """One cycle, in its own run directory."""

    def __init__(
        self,
        context: RunContext,
        tasks: CycleTasks,
        store: Store,
        number: int,
        run: Path,
        texts: Texts,
        spec: RunSpec,
    ) -> None:
        self._context, self._config, self._tasks = context, context.config, tasks
        self._store, self._number, self._run, self._texts, self._spec = store, number, run, texts, spec
        self._scores: dict[str, Solved] = {}
        self._mixtures: dict[str, dict[str, dict[str, int]]] = {}
        self._places: dict[str, dict[str, Solved]] = {}

    def run(self) -> Cycle:
        start = cycle_folder(self._run, self._number - 1) / MODEL if self._number else self._context.parent
        self._generate(start)
        routed = self._route()
        ahead = self._continue_pretraining(start)
        ahead, played = self._fine_tune(ahead, start)
        recycled: dict[str, int] = {}
        if self._number and self._config.ppo.updates:
            tuned = ahead
            ahead, played = self._reinforce(tuned)
            recycled = self._recycle(tuned)
        model = self._context.path / MODEL
        if (kept := self._keep(ahead, start if self._number else None)) != "new":
            played = self._evaluate("kept", model)
        self._store.hold_out(played)
        shown = f"after_{list(self._scores)[-1]}"
        self._store.add(played, self._origin("policy", shown, model, "evaluation"))
        self._places["held_out"] = _by_place(played)
        own = lineage(model)
        sets = {name: len(self._store.members(name)) for name in (SFT, CT)}
        seconds = sum(stage["seconds"] for stage in self._context.run.results().values())
        return Cycle(
            self._number, dataclasses.asdict(routed), sets, self._mixtures, recycled, self._scores, self._places, kept,
            own.id, own.ancestors, shown, seconds,
        )  # fmt: skip

    # ---- data

    def _generate(self, start: Path | None) -> None:
        """Takes the cycle's episodes into the store."""
        if self._number == 0:
            if self._tasks.has_reference and self._config.demonstrations.episodes:
                shown = collect(self._context, self._tasks)
                self._store.add(shown, self._origin("demonstration", "demonstrations"))
                self._places["generated"] = _by_place(shown)
            self._take_in("imported", "demonstrations")
        else:
            assert start is not None
            sampling = self._config.sampling
            self._context.sync_weights(start_from(start, self._context.parameters), 0)
            player = self._context.policy_player()
            attempts = self._context.play("attempts", self._tasks.practice(sampling.tasks), player, sampling.samples)
            self._store.add(attempts, self._origin("policy", "attempts", start))
            self._places["generated"] = _by_place(attempts)
            solved = sum(each.succeeded for each in attempts)
            self._context.record("attempts", {"episodes": len(attempts), "solved": solved})
            print(f"cycle {self._number}: {solved} of {len(attempts)} attempts at fresh tasks have V = 1")
        self._take_in("annotation", "annotation")

    def _take_in(self, source: str, section: str) -> None:
        """Recorded episodes of this cycle: names with {cycle} are of the cycle they say, others of the cold start."""
        names: Sequence[str] = self._config[section].datasets
        own = [name.replace(CYCLE, str(self._number)) for name in names if CYCLE in name or self._number == 0]
        found = [name for name in own if ":" in name or Path(name).exists() or name in names]
        for name in found:
            for trajectory in recorded_for(self._spec, [name], f"config.{section}.datasets"):
                origin = dataclasses.replace(self._origin(source), parent=str(trajectory.metadata.get("corrects", "")))
                said = [] if trajectory.success is None else [Verdict(trajectory.success, "annotator", name)]
                self._store.add([trajectory], origin, {trajectory.id: said} if source == "annotation" else None)

    def _recycle(self, start: Path) -> dict[str, int]:
        """Takes in what value pretraining and RL have played from the weights in `start`, for the next cycle's sets: of
        each at most `recycle.episodes`, drawn by the seed. Both are over, so that a killed cycle finds the same."""
        counts = {"left_out": 0, **dict.fromkeys(RECYCLED, 0)}
        for number, stage in enumerate(RECYCLED):
            files = sorted((self._context.path / "trajectories" / stage).glob("*.trajectory"))
            generator = np.random.default_rng((self._config.seed, self._number, number))
            chosen = sorted(generator.permutation(len(files))[: self._config.recycle.episodes])
            played = (load_trajectory(files[index]) for index in chosen)
            counts[stage] = len(self._store.add(played, self._origin("policy", stage, start)))
            counts["left_out"] += len(files) - len(chosen)
        return counts

    def _origin(self, source: str, stage: str = "", weights: Path | None = None, purpose: str = "training") -> Origin:
        played_by = "" if weights is None else lineage(weights).id
        return Origin(source, played_by, self._number, run=self._run.name, purpose=purpose, stage=stage)

    def _route(self) -> Routed:
        """The control "first_cycle" measures what a cycle has generated, and trains on the first one's alone."""
        by = "everything" if self._config.control == "no_routing" else "verdict"
        if self._config.control == "first_cycle" and self._number > 1:
            for name in (SFT, CT):
                self._store.assign(name, batch_of(self._number), ())
        return route(self._store, self._number, by)

    def _drawn(self, name: str, config: Any, weight: float) -> list[Trajectory]:
        """A stage's training episodes: of the set, shuffled, with text-only data mixed in; CT's base is the text."""
        episodes: Sequence[Trajectory] = StoredEpisodes(self._store, self._store.members(name))
        if name == SFT and self._config.control != "no_routing":
            rule = from_section(KeepRule, self._config.sampling)
            # V of the store counts, which an annotator may have said against what the episode came with.
            solved = [dataclasses.replace(each, success=True) for each in episodes]
            episodes = [each for group in by_task(solved) for each in select_successes(group, rule)]
        records = self._context.path / f"{name}.array_record" if self._config.reader == "array_record" else None
        size = functools.partial(learned_tokens, loss_on=LOSS_ON[name], image=self._context.tokenizer.image)
        drawn = draw_training_set(
            name, episodes, _all(self._texts), weight, size=size, count=config.episodes,
            seed=self._config.seed + self._number, records=records, texts_alone=name == CT,
        )  # fmt: skip
        source_of = {each.id: source for source, found in self._texts.items() for each in found}
        self._mixtures[name] = mixture(drawn, source_of, size)
        return drawn

    # ---- training

    def _continue_pretraining(self, start: Path | None) -> Path | None:
        """Rarely: at the cold start, and every `ct.every` cycles."""
        config = self._config.ct
        if not config.every or self._number % config.every:
            return start
        drawn = self._drawn(CT, config, self._config.text.ct_weight)
        if not drawn:
            print(f"cycle {self._number}: no episode has V = 0 and there is no text, so there is no CT")
            return start
        output = self._context.path / "ct"
        supervise(self._context, "ct", drawn, config, start, loss_on=LOSS_ON[CT], output=output)
        if self._config.evaluate_ct:
            self._evaluate("ct", output)
        return output

    def _fine_tune(self, ahead: Path | None, start: Path | None) -> tuple[Path, list[Trajectory]]:
        drawn = self._drawn(SFT, self._config.sft, self._config.text.sft_weight)
        if not drawn:
            raise InputError(
                f"cycle {self._number} must have an episode with V = 1 to fine-tune on; got none of "
                f"{self._store.count()}; more demonstrations.episodes or sampling.samples may."
            )
        output = self._context.path / "sft"
        supervise(self._context, "sft", drawn, self._config.sft, ahead or start, loss_on=LOSS_ON[SFT], output=output)
        return output, self._evaluate("sft", output)

    def _reinforce(self, start_at: Path) -> tuple[Path, list[Trajectory]]:
        value = None
        if ppo_config(self._config.ppo).uses_values:
            pretrain(self._context, self._tasks, start_at)
            value = self._context.path / "value"
        output = self._context.path / "policy"
        run_ppo(self._context, self._tasks, start_at, value)
        return output, self._evaluate("rl", output)

    def _evaluate(self, stage: str, weights: Path) -> list[Trajectory]:
        played = evaluate(self._context, self._tasks, f"after_{stage}", weights)
        self._scores[stage] = sum(each.succeeded for each in played), len(played)
        return played

    # ---- which model goes on

    def _keep(self, new: Path, start: Path | None) -> str:
        """RUN/cycles/N/model becomes what the next cycle begins with: "new", "previous" or "merged"."""
        if (done := self._context.run.finished("keep")) is None:
            candidates = {"new": new} if start is None else self._candidates(new, start)
            solved: dict[str, int] = {}
            if len(candidates) > 1:
                validating = self._tasks.validating()
                for name, weights in candidates.items():
                    played = evaluate(self._context, validating, f"validate_{name}", weights)
                    solved[name] = sum(each.succeeded for each in played)
            done = {"kept": max(candidates, key=lambda name: solved.get(name, 0)), "validated": solved}
            model = self._context.path / MODEL
            if not model.exists():
                copy_export(candidates[done["kept"]], model)
            self._context.record("keep", done)
        return str(done["kept"])

    def _candidates(self, new: Path, start: Path) -> dict[str, Path]:
        """The first of equally good ones is kept."""
        by = self._config.keep.by
        found = {"new": new}
        if by != "latest":
            found["previous"] = start
        if by == "merged":
            found["merged"] = self._context.path / "merged"
            weight = self._config.keep.weight
            if not found["merged"].exists():
                merge_checkpoints([start, new], found["merged"], [1 - weight, weight])
        return found
