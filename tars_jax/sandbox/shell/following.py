"""A command followed until it ends, or until whoever waits for it has heard or waited enough."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import re
from collections.abc import Awaitable, Callable, Sequence

from tars_jax.sandbox.shell.shell import Result, Shell

POLL_S = (0.03, 0.25)  # between looks at what it has written: at first, and at most
MOST_SEARCHED = 20_000  # characters of the end of an output in which patterns are looked for


@dataclasses.dataclass(frozen=True)
class Limits:
    timeout_s: float  # the wait ends, and the command runs on
    quiet_s: float = math.inf  # the same, once it has written nothing for so long
    kill_s: float = math.inf  # it is killed
    until: Sequence[re.Pattern[str]] = ()  # the wait ends where one is found in the output


@dataclasses.dataclass(frozen=True)
class Followed:
    result: Result  # with all that was written meanwhile; up to the match, if there was one
    why: str  # ended, timeout, quiet, killed or matched
    matched: int = -1  # which pattern


async def follow(
    shell: Shell, begin: Callable[[float], Awaitable[Result]], limits: Limits, *, most: int,
    heard: Callable[[Result], None] = lambda result: None,
) -> Followed:  # fmt: skip
    """Begins a command, or input of one, by `begin(seconds)`, and waits for what it leads to.

    `most`: characters of the output that are kept, from its end. `heard`: is called with each piece of it. Raises what
    `begin` and the shell raise.
    """
    clock = asyncio.get_running_loop().time
    began = changed = clock()
    ends = min(limits.timeout_s, limits.kill_s)
    plain = not limits.until and limits.quiet_s >= ends
    pause_s = POLL_S[0]
    result, output = await begin(ends if plain else min(ends, pause_s)), ""
    while True:
        heard(result)
        output = (output + result.output)[-most:]
        now = clock()
        changed = now if result.output else changed
        skipped = max(len(output) - MOST_SEARCHED, 0)
        for number, pattern in enumerate(limits.until):
            if found := pattern.search(output[skipped:]):
                shown = output[: skipped + found.start()]
                return Followed(dataclasses.replace(result, output=shown), "matched", number)
        so_far = dataclasses.replace(result, output=output)
        if result.exit_code is not None or result.ended or not shell.running:  # another call may have heard of its end
            return Followed(so_far, "ended")
        if now - began >= limits.kill_s:
            result = await shell.kill()
            heard(result)
            return Followed(dataclasses.replace(result, output=(output + result.output)[-most:]), "killed")
        if now - began >= limits.timeout_s:
            return Followed(so_far, "timeout")
        if now - changed >= limits.quiet_s:
            return Followed(so_far, "quiet")
        rest_s = min(ends - (now - began), limits.quiet_s - (now - changed))
        result = await shell.more(max(rest_s if plain else min(rest_s, pause_s), 0.0))
        pause_s = min(2 * pause_s, POLL_S[1])
