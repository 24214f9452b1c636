"""How a shell is told what to run, and how it tells that it has: by typed lines and by its prompt.

A command is typed as one word that bash takes apart again, so it may have any number of lines, and what it reads from
its stdin is none of it. Before each prompt bash prints

    RS secret : number of the command : process of the shell : ready : exit status : folder RS

RS is the byte 30. The secret is the session's own. It stands in a variable, yet written otherwise than it is printed:
no listing of variables looks like a prompt. A shell that a command started, or that took the place of the first, has
the variable, too, and is spoken to from then on; it is not `ready` until it has had the lines of `GREETING`.
"""

from __future__ import annotations

import dataclasses
import re

LONGEST_LINE = 1000  # bytes; a terminal takes no more than 4095 in one
PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\!")

# No line editing and no history.
GREETING = b" set +o emacs +o vi +H +o history 2>/dev/null; __tars_ready=1; __tars_set() { return $1; }\n"
# The first status that a command sees is that of the command before.
FIRST, FURTHER = " __tars_before=${__tars_status-0} __tars_text=$'", " __tars_text+=$'"
RUN = (
    ' export __tars_number=%d; if __tars_set "${__tars_before-0}"; then eval -- "$__tars_text"; '
    'else eval -- "$__tars_text"; fi\n'
)


@dataclasses.dataclass(frozen=True)
class Prompt:
    number: int
    process: int
    ready: bool
    status: int
    folder: str


def variables(secret: str) -> dict[str, str]:
    """For the first shell, and those that it starts. Programs that show their output by pages do not wait for keys."""
    printed = (
        f"printf '\\036{secret}:%s:%s:%s:%s:%s\\036' "
        '"${__tars_number-0}" "$BASHPID" "${__tars_ready-0}" "$__tars_status" "$PWD"'
    )
    command = f"__tars_status=$?; {{ {printed} >/dev/tty || {printed}; }} 2>/dev/null; PS1= PS2="
    pagers = dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"), "cat")
    return {"PROMPT_COMMAND": command, "TERM": "xterm-256color", "__tars_number": "0", **pagers}


def pattern(secret: str) -> re.Pattern[bytes]:
    return re.compile(rb"\x1e%s:(\d+):(\d+):([01]):(\d+):([^\x1e]*)\x1e" % secret.encode())


def parse(match: re.Match[bytes]) -> Prompt:
    number, process, ready, status = (int(match[place]) for place in range(1, 5))
    return Prompt(number, process, ready == 1, status, match[5].decode(errors="replace"))


def typed(command: bytes, number: int) -> bytes:
    """The lines that make bash run a command."""
    words = [chr(byte) if byte in PLAIN else f"\\x{byte:02x}" for byte in command]
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > LONGEST_LINE:
            lines.append(line)
            line = ""
        line += word
    lines.append(line)
    texts = [f"{FURTHER if place else FIRST}{text}'\n" for place, text in enumerate(lines)]
    return ("".join(texts) + RUN % number).encode("ascii")
