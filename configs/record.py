"""Your work on this computer, recorded for an agent to learn from: screen, hands and voice, of what you allow alone.

Command:  ./launch/local.sh record [--config.allow=firefox,libreoffice] [--config.task='Book a table for four']

`record list` says what lies on this computer, `record delete REC` deletes a recording, all of it.

Takes the extra `record`, an X screen and, for the voice, pw-record, parecord or arecord. Asks for your consent at the
terminal, then records until `stop`, Ctrl-C or the limit; a red frame around the screen shows that it does.
Expected result: a folder below ~/.local/share/tars_jax/recordings, and its path in the last line. Nothing leaves this
computer; docs/annotation.md says on one page what is recorded, where it lies and how it is deleted.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import PATTERN
from tars_jax.pipelines.schema import section
from tars_jax.rules import field, more_than, one_of


@dataclasses.dataclass(frozen=True)
class Record:
    """The recording: what is recorded, and which applications are allowed."""

    action: str = field(
        "record",
        "what to do: record; list, show the recordings on this machine; delete, remove `recording`",
        one_of("record", "list", "delete"),
    )
    recording: str = field("", "folder of the recording to delete")
    folder: str = field("", "folder of all recordings; empty: ~/.local/share/tars_jax/recordings")
    allow: tuple[str, ...] = field(
        (), "applications to record, by the class of their windows; (): you are asked about each open one"
    )
    task: str = field("", "task that you set out to do")
    annotator: str = field("", "your name, or any other of your choice")
    track: str = field("", "track of the annotator: expert, novice or empty", one_of("", "expert", "novice"))
    microphone: bool = field(True, "whether the voice is recorded")
    accessibility: bool = field(
        True, "whether AT-SPI, where it is there, tells password fields and the focused window's tree"
    )
    secret_titles: str = field(
        "", "regular expression of titles of windows that are never recorded, besides those in windows.py", PATTERN
    )
    secret_applications: str = field(
        "", "regular expression of classes of applications that are never recorded", PATTERN
    )
    discard_minutes: float = field(5.0, "last minutes of the recording that hotkeys.discard deletes", more_than(0))
    limit_megabytes: float = field(4000.0, "size in megabytes at which the recording ends", more_than(1))
    system: str = field(
        "x11",
        "input system: x11; or pynput, where there is no X, as on macOS, which is untested",
        one_of("x11", "pynput"),
    )
    display: str = field("", "display of x11; empty: $DISPLAY")


@dataclasses.dataclass(frozen=True)
class Hotkeys:
    """Hotkeys that work in all applications; empty: none."""

    pause: str = field("Control+Alt+Shift+p", "hotkey that pauses and resumes recording")
    secret: str = field("Control+Alt+Shift+s", "hotkey that begins and ends a secret passage")
    discard: str = field("Control+Alt+Shift+d", "hotkey that deletes the last minutes of the recording")


def get_config() -> ConfigDict:
    return section(Record, hotkeys=section(Hotkeys))
