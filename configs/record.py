"""Your work on this computer, recorded for an agent to learn from: screen, hands and voice, of what you allow alone.

Command:  ./launch/local.sh record [--config.allow=firefox,libreoffice] [--config.task='Book a table for four']

`record list` says what lies on this computer, `record delete REC` deletes a recording, all of it.

Takes the extra `record`, an X screen and, for the voice, pw-record, parecord or arecord. Asks for your consent at the
terminal, then records until `stop`, Ctrl-C or the limit; a red frame around the screen shows that it does.
Expected result: a folder below ~/.local/share/tars_jax/recordings, and its path in the last line. Nothing leaves this
computer; docs/annotation.md says on one page what is recorded, where it lies and how it is deleted.
"""

import dataclasses
import re

from ml_collections import ConfigDict

from tars_jax.pipelines.schema import section
from tars_jax.rules import Rule, field, more_than, one_of


def is_pattern(text: str) -> bool:
    """Whether a text is a regular expression."""
    try:
        re.compile(text)
    except re.error:
        return False
    return True


PATTERN = Rule(is_pattern, "a regular expression")


@dataclasses.dataclass(frozen=True)
class Record:
    action: str = field(
        "record",
        "list: the recordings that lie here; delete: `recording`, all of it",
        one_of("record", "list", "delete"),
    )
    recording: str = field("", "of delete: its folder")
    folder: str = field("", "where recordings lie; empty: ~/.local/share/tars_jax/recordings")
    allow: tuple[str, ...] = field(
        (), "applications, by their windows' class; (): those that are open are asked for one by one"
    )
    task: str = field("", "what you set out to do")
    annotator: str = field("", "who you are; a name of your choice")
    track: str = field("", "or expert, or novice", one_of("", "expert", "novice"))
    microphone: bool = field(True, "False: no voice")
    accessibility: bool = field(True, "fields for passwords and the focused window's tree, where AT-SPI is there")
    secret_titles: str = field(
        "", "windows that are never recorded, beyond those of windows.py, by their titles", PATTERN
    )
    secret_applications: str = field("", "the same by their applications' classes", PATTERN)
    discard_minutes: float = field(5.0, "that hotkeys.discard takes back", more_than(0))
    limit_megabytes: float = field(4000.0, "of this recording; it ends there", more_than(1))
    system: str = field("x11", "pynput: where there is no X, as on macOS; nobody has tried it", one_of("x11", "pynput"))
    display: str = field("", "of x11; empty: DISPLAY")


@dataclasses.dataclass(frozen=True)
class Hotkeys:
    """Combinations that serve everywhere; empty: none."""

    pause: str = field("Control+Alt+Shift+p", "and resume")
    secret: str = field("Control+Alt+Shift+s", "begins, ends")
    discard: str = field("Control+Alt+Shift+d", "what the last minutes have recorded")


def get_config() -> ConfigDict:
    return section(Record, hotkeys=section(Hotkeys))
