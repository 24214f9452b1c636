"""The time of a turn at the end of an episode against one at its beginning: a live context, and reading all anew.

    PYTHONPATH=. python tests/benchmarks/turn_time.py [--turns=30] [--repeats=15] [--threads=2]

8 sessions play at once; a turn reads 24 tokens and answers with 16. In the live way a session goes on from its last
answer, so that each turn is the same work. In the other every turn begins a new window with the whole history (prompt
and answers of the live play), as one does with an endpoint that keeps no context. Same engine (nano, seeded weights,
windows of 1200 tokens for 30 turns), same new tokens; histories have a compiled shape of their very length, so that no
padding counts against them. The ways take turns, repeat by repeat. Of each repeat the time of a turn is divided by
that of turn 2 of the same way; printed are medians and quartiles, of time on the wall and of processor time. Goal: at
most 1.15 for the last live turn.

A live cache is attended in full whatever it holds, so `max_length` makes all turns dearer and none dearer than others.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

import jax
import numpy as np

from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampled
from tars_jax.inference.session import Session
from tars_jax.model.policy import init_parameters
from tars_jax.model.presets import nano
from tests.benchmarks.peers.turns import between, clock

SESSIONS, OBSERVATION, ANSWER = 8, 24, 16
TURN = OBSERVATION + ANSWER  # tokens that a window grows by


async def ask(
    sessions: Sequence[Session], tokens: Sequence[Sequence[int]], restart: bool
) -> tuple[list[Sampled], list[float]]:
    """One turn of all sessions; seconds on the wall and of the processor."""
    began = clock()
    answers = await asyncio.gather(
        *(session.respond(each, [], restart=restart) for session, each in zip(sessions, tokens, strict=True))
    )
    spent = between(began, clock())
    assert all(len(answer.tokens) == ANSWER for answer in answers)
    return answers, spent


async def play(engine: Engine, turns: int, measured: Sequence[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds [measured turns, 2] of the live way, and of reading all anew."""
    # From 6 on: the image's token is 5.
    read = np.random.default_rng(seed).integers(6, engine.model.vocabulary, (turns, SESSIONS, OBSERVATION)).tolist()
    histories: list[list[int]] = [[] for _ in range(SESSIONS)]
    live, anew = {}, {}
    prompts = {}  # of the measured turns
    sessions = [engine.session(seed * SESSIONS + number) for number in range(SESSIONS)]
    for session in sessions:
        await session.__aenter__()
    for turn, tokens in enumerate(read, 1):
        for history, new in zip(histories, tokens, strict=True):
            history += new
        prompts[turn] = [list(history) for history in histories]
        answers, live[turn] = await ask(sessions, tokens, restart=turn == 1)
        for history, answer in zip(histories, answers, strict=True):
            history += answer.tokens
    for turn in measured:
        _, anew[turn] = await ask(sessions, prompts[turn], restart=True)
    for session in sessions:
        session.close()
    return np.array([live[turn] for turn in measured]), np.array([anew[turn] for turn in measured])


def report(way: str, times: np.ndarray, measured: Sequence[int]) -> None:
    """Times are [repeats, measured turns, 2]."""
    ratios = times / times[:, :1]
    for column, kind in enumerate(("wall", "processor")):
        for number, turn in enumerate(measured[1:], 1):
            low, median, high = np.percentile(ratios[:, number, column], [25, 50, 75])
            print(
                f"{way}, {kind} time: turn {turn} takes {median:.2f} times turn {measured[0]} "
                f"(quartiles {low:.2f} to {high:.2f}; {1e3 * np.median(times[:, number, column]):.0f} ms)"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    measured = sorted({2, *range(10, arguments.turns, 10), arguments.turns})
    model = nano()
    assert model.image_token is not None
    parameters = jax.jit(lambda key: init_parameters(model, key))(jax.random.key(0))
    config = EngineConfig(
        slots=SESSIONS,
        max_length=arguments.turns * TURN,
        max_new_tokens=ANSWER,
        row_buckets=(SESSIONS,),
        # A live turn reads the last token of its answer, too, which was sampled and not read.
        length_buckets=(OBSERVATION + 1, *((turn - 1) * TURN + OBSERVATION for turn in measured)),
    )
    never = model.image_token  # as the stop token: every answer takes its whole budget
    with Engine(model, parameters, config, image=model.image_token, stop=never, seed=0) as engine:
        engine.warm_up()
        plays = []
        for repeat in range(arguments.repeats + 1):
            plays.append(asyncio.run(play(engine, arguments.turns, measured, repeat)))
            print(f"repeat {repeat} of {arguments.repeats}", file=sys.stderr, flush=True)
    live, anew = (np.stack(way) for way in zip(*plays[1:], strict=True))  # the first warms up
    report("live", live, measured)
    report("reading all anew", anew, measured)
    for column, kind in enumerate(("wall", "processor")):
        ratio = np.median(anew[:, -1, column] / live[:, -1, column])
        print(f"{kind} time: turn {arguments.turns} takes {ratio:.1f} times as long where all is read anew")


if __name__ == "__main__":
    main()
