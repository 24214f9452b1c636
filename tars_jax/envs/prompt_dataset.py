"""`prompts`: data sets as environments. A record's prompt is the instruction, the policy's text is the completion.

    load_environment("prompts", {"data": "sums.jsonl", "rewards": {"mine:exact": 1.0, "mine:short": 0.2}})

One call can be made, `answer(text=...)`; with `agent.grammar=plain`, which `train` has here unless told otherwise,
what the policy writes is that text. A dialog of
several turns goes on with what a function says (`env_response`), or with the record's own messages of the user. What
reward functions need (the record, the dialog) is in `Observation.info`, which no policy sees.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tars_jax import InputError
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition, Verification
from tars_jax.envs.spec import EnvironmentResources, EnvironmentSpec
from tars_jax.json_fields import Fields
from tars_jax.plugins import Plugins
from tars_jax.tasks.games.moves import Move
from tars_jax.tasks.prompts import PromptRecord, PromptSet, RecordForm, Sides, open_prompts

NAME = "prompts"
OPTIONS = (
    "data", "split", "evaluation_data", "held_out", "rewards", "columns", "system", "max_turns", "env_response",
    "choices", "max_characters", "seed", "shuffle",
)  # fmt: skip
ANSWER = "answer"  # as judges read it (`tars_jax.judges.reference`)
_RESPONSES = Plugins("env_response", "tars_jax.env_responses")
_MOST_TURNS = 10  # of a dialog that a function goes on with, where `max_turns` says nothing
_JUDGE = "rewards"
Response = Callable[..., Any]


class PromptsEnvironment:
    """Plays one dialog after another."""

    def __init__(
        self,
        prompts: PromptSet,
        *,
        max_turns: int = 1,
        env_response: Response | None = None,
        choices: Sequence[str] = (),
    ) -> None:
        self._prompts, self._max_turns, self._env_response = prompts, max_turns, env_response
        self._choices, self.action_space = list(choices), answers(choices)
        self.instruction = ""
        self._prompt: PromptRecord | None = None
        self._dialog: list[dict[str, str]] = []
        self._turn = 0
        self._state: dict[str, Any] = {}

    async def reset(self, task: Task) -> Observation:
        self._prompt = prompt = await asyncio.to_thread(self._prompts.prompt, task.seed)
        self.instruction = prompt.instruction
        self._dialog, self._turn, self._state = [], 0, {**prompt.columns, "prompt": prompt.given}
        return self._shown("", {"record": dict(prompt.columns), "prompt": prompt.given})

    async def step(self, actions: Sequence[Any]) -> Transition:
        assert self._prompt is not None
        said = [{"role": "assistant", "content": str(actions[0].parameters["text"])}]
        self._dialog += said
        self._turn += 1
        reply = None if self._turn >= self._max_turns else await self._reply(self._prompt)
        if reply is not None:
            said.append({"role": "user", "content": reply})
            self._dialog.append(said[-1])
        observed = self._shown(reply or "", {"turn": self._turn, "messages": said})
        return Transition(observed, terminated=reply is None)

    async def close(self) -> None:
        """Does nothing: no resources are held."""

    async def _reply(self, prompt: PromptRecord) -> str | None:
        """The user's next message; None: the dialog is over."""
        if self._env_response is None:
            return prompt.replies[self._turn - 1] if self._turn <= len(prompt.replies) else None
        self._state["turn"] = self._turn
        said = self._env_response([*map(dict, prompt.messages), *self._dialog], self._state)
        return _text_of(await said if inspect.isawaitable(said) else said)

    def _shown(self, text: str, info: Mapping[str, Any]) -> Observation:
        """`state`: what the record's own assistant says next, for the reference player."""
        known = self._prompt.answers if self._prompt else ()
        state = {"answer": known[self._turn] if self._turn < len(known) else "", "choices": self._choices}
        return Observation(text=text, info={**info, "state": state})


def answers(choices: Sequence[str] = ()) -> ActionSpace:
    """Action space of an answer: any text, or one of `choices`."""
    text = {"type": "string", **({"enum": list(choices)} if choices else {})}
    parameters = {"type": "object", "properties": {"text": text}, "required": ["text"]}
    return ActionSpace("tools", functions=(Function(ANSWER, "Says it to the user.", parameters),))


def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """Says what the record's own assistant says; a bad move is any choice, or nothing said."""
    other = rng.choice(state["choices"] or [""])
    return Move("", ANSWER, {"text": state["answer"] if rng.random() < skill else other})


def prompts_spec(options: Mapping[str, Any]) -> EnvironmentSpec:
    """The environment of these options:

    data: a file (.jsonl, .parquet, .arrow), or a folder that Hugging Face's `datasets` saved; `split`: which one of it.
    evaluation_data: where the prompts for evaluation are; without it `held_out` (0.1) is the share of those of `data`.
    rewards: functions and their weights, as the judge `rewards` takes them; without, `task.judge` tells the reward.
    columns: which column is which of prompt, completion, answer, ...; system: a message before all.
    max_turns, env_response: of a dialog, and a function (messages, state) that says what the user says next,
      or None where the dialog is over; `state` holds the columns, and what the function writes to it.
    choices: the only texts that can be answered. max_characters: longer prompts are left out.
    seed, shuffle: of the split and the order.

    Raises InputError for options that it does not have, and for data that cannot be read.
    """
    fields = Fields(options, "option ")
    data, evaluation_data = fields.text("data"), fields.text("evaluation_data", "")
    max_turns = fields.integer("max_turns", None, 1, 1000)
    responds = fields.text("env_response", "")
    columns, choices, rewards = fields.value("columns") or {}, fields.array("choices"), fields.value("rewards")
    if not isinstance(columns, Mapping) or not all(isinstance(each, str) for each in columns.values()):
        raise fields.error("columns", 'an object such as {"prompt": "problem"}')
    if not all(isinstance(each, str) and each for each in choices):
        raise fields.error("choices", "a list of texts")
    turns = max_turns or (_MOST_TURNS if responds else 1)
    form = RecordForm(dict(columns), fields.text("system", ""), turns > 1)
    sides = Sides(
        fields.number("held_out", Sides.held_out, 0, 1),
        fields.integer("seed", 0, 0, 2**31) or 0,
        fields.flag("shuffle", True),
        fields.integer("max_characters", 0, 1, 2**31) or 0,
    )
    split = fields.text("split", "train")
    if unknown := fields.unread():
        raise InputError(f"{NAME}: an option must be one of {', '.join(OPTIONS)}; got {unknown[0]!r}")
    env_response = _response(responds) if responds else None
    prompts = open_prompts(data, evaluation_data, split, form, sides)

    def make(resources: EnvironmentResources) -> Any:
        return PromptsEnvironment(prompts, max_turns=turns, env_response=env_response, choices=choices)

    def verification(task: Task) -> Verification:
        answer = prompts.prompt(task.seed).columns.get("answer")
        return Verification("judge", "" if answer is None else str(answer))

    return EnvironmentSpec(
        name=NAME,
        make=make,
        default_max_steps=lambda options: turns,
        reference=reference_player if prompts.has_answers else None,
        verification=verification,
        made_with=dict(options),
        judge=None if rewards is None else (_JUDGE, {"functions": rewards, "columns": list(prompts.columns)}),
        answered_in_words=True,
        may_be_empty=True,
        levels=prompts.dealt,
    )


def _response(name: str) -> Response:
    found: Any = _RESPONSES.load(name)
    if not callable(found):
        raise InputError(f"option env_response must be a function; got {name!r}, of type {type(found).__name__}")
    try:
        inspect.signature(found).bind([], {})
    except TypeError as error:
        raise InputError(f"option env_response must take messages and state; got {name!r}: {error}") from error
    return cast(Response, found)


def _text_of(said: Any) -> str | None:
    """Text of a user's message, given as a text, a message, or a list of messages; None, or no message: nothing."""
    if isinstance(said, list | tuple):
        return "\n".join(filter(None, map(_text_of, said))) or None
    text = said.get("content") if isinstance(said, Mapping) else said
    if text is not None and not isinstance(text, str):
        raise TypeError(f"env_response must return a text, messages or None; got {said!r:.100}")
    return text or None
