"""Prompt protocol of a shell: it is told what to run by a typed line, and tells by its prompt that it has.

A command is typed as one word that bash takes apart again, so it may have any number of lines, and what it reads from
its stdin is none of it; a long one lies in a file, which the line names. Before each prompt bash prints

    RS secret : number of the command : process of the shell : ready : exit status : folder RS traps RS

RS is the byte 30. The secret is the session's own. It stands in a variable, yet no listing of variables looks like a
prompt. A shell that a command started, or that took the place of the first, has the variable, too, and is spoken to
from then on; it is not `ready` until it has had the line `GREETING`.

What a command sets so that bash tells what it does is put aside and comes back before the next command, so nothing of
ours is told: `set -x` and `set -v` with the prompt, traps of DEBUG and RETURN, which the prompt lists, with the line
that is typed next. Prompts that a command sets give way.
"""

from __future__ import annotations

import dataclasses
import re
import shlex

from tars_jax import InputError

LONGEST_COMMAND = 400_000  # bytes
LONGEST_TYPED = 3000  # bytes of a command as typed; a terminal takes no more than 4095 in one line
PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\!")

# No line editing and no history.
GREETING = b" set +o emacs +o vi +H +o history 2>/dev/null; __tars_ready=1; __tars_set() { return $1; }\n"
# The first status that a command sees is that of the command before. By !, a command that fails is one failure to a
# trap of ERR, not two. By builtin, what we need is there when a command has made a function or an alias of that name.
RUN = (
    " %sbuiltin set +v; __tars_before=${__tars_status-0}; %s; __tars_number=%d; "
    '[ -z "${__tars_aside-}" ] || __tars_text="{ $__tars_aside"$\'\\n} 2>/dev/null\\n\'"$__tars_text"; __tars_aside=; '
    "builtin unset PIPESTATUS; "  # a shell that had PROMPT_COMMAND from the beginning leaves it empty
    'if __tars_set "$__tars_before"; then ! builtin eval -- "$__tars_text"; else ! builtin eval -- "$__tars_text"; fi; '
    "{ __tars_kept=${PIPESTATUS[0]}; builtin unset PROMPT_COMMAND; PROMPT_COMMAND=$__tars_prompt; "
    "builtin export PROMPT_COMMAND; } >/dev/null 2>&1\n"
)
# Behind a line of its own: after some mistakes in a command, bash takes no { at the beginning of the next line.
ASIDE = (
    "\n { __tars_aside+=$({ builtin trap -p RETURN DEBUG >&9; } 9>&1 >/dev/null); builtin trap - RETURN DEBUG; } "
    ">/dev/null 2>&1; "
)
# By stdin, without which there is no shell, where there is no /dev/tty: a command may have closed stdout.
PROMPTED = (
    "{ __tars_status=${__tars_kept:-$?} __tars_kept= __tars_options=$-; builtin set +xv; "
    "case $__tars_options in *x*) __tars_aside='builtin set -x; ';; esac; "
    'case $__tars_options in *v*) __tars_aside="builtin set -v; ${__tars_aside-}";; esac; '
    '__tars_said="$__tars_secret:${__tars_number-0}:$BASHPID:${__tars_ready-0}:$__tars_status:$PWD"; '
    "command printf '\\036%s\\036' \"$__tars_said\" >/dev/tty || command printf '\\036%s\\036' \"$__tars_said\" >&9; "
    "builtin trap -p RETURN DEBUG >/dev/tty || builtin trap -p RETURN DEBUG >&9; "
    "command printf '\\036' >/dev/tty || command printf '\\036' >&9; PS0= PS1= PS2=; } 9>&0 >/dev/null 2>&1"
)
TOLD = f"{PROMPTED}\n".encode()  # what bash says of it where a command has set -v


@dataclasses.dataclass(frozen=True)
class ShellPrompt:
    number: int
    process: int
    ready: bool
    status: int
    folder: str
    traps: bool  # whether there are some that would tell what is typed


def variables(secret: str) -> dict[str, str]:
    """For the first shell, and those that it starts. No history has what we type, which begins with a blank; programs
    that show their output by pages do not wait for keys.
    """
    pagers = dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"), "cat")
    own = {"__tars_prompt": PROMPTED, "__tars_secret": secret, "__tars_number": "0"}
    return {"PROMPT_COMMAND": PROMPTED, "HISTCONTROL": "ignorespace", "TERM": "xterm-256color", **own, **pagers}


def pattern(secret: str) -> re.Pattern[bytes]:
    numbers = rb"\x1e%s:(\d{1,10}):(\d{1,10}):([01]):(\d{1,3}):" % secret.encode()
    return re.compile(numbers + rb"([^\x1e]*)\x1e((?:trap -- [^\x1e]*)?)\x1e")


def parse(match: re.Match[bytes]) -> ShellPrompt:
    number, process, ready, status = (int(match[place]) for place in range(1, 5))
    return ShellPrompt(number, process, ready == 1, status, match[5].decode(errors="replace"), bool(match[6]))


def lines_of(command: str, given: str | None = None) -> bytes:
    """`given`: where `command` was made of another one, that one, which errors quote.

    Raises InputError for a command that bash cannot be given.
    """
    got = f"{(command if given is None else given)!r:.80}"
    try:
        lines = command.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise InputError(f"command must have a UTF-8 form; got {got}") from None
    if b"\0" in lines or len(lines) > LONGEST_COMMAND:
        raise InputError(f"command must be {LONGEST_COMMAND} bytes at most, none of them zero; got {got}")
    return lines


def typed(command: bytes, number: int, *, traps: bool) -> bytes | None:
    """The line that makes bash run a command; None: it would be too long. `traps`: there are some to be put aside."""
    word = "".join(chr(byte) if byte in PLAIN else f"\\x{byte:02x}" for byte in command[: LONGEST_TYPED + 1])
    if len(word) > LONGEST_TYPED:
        return None
    return (RUN % (ASIDE * traps, f"__tars_text=$'{word}'", number)).encode("ascii")


def typed_by_file(path: str, number: int, *, traps: bool) -> bytes:
    """Like `typed`, of a command that lies in a file."""
    return (RUN % (ASIDE * traps, f"IFS= read -r -d '' __tars_text <{shlex.quote(path)} || :", number)).encode("ascii")
