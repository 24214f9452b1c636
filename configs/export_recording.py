"""A recording without what should not leave this computer: a redacted copy in a new folder; seconds.

Command:  ./launch/local.sh export_recording REC FOLDER [--config.rectangles=0/0/300/40,100/200/400/30/12.5/80]

Typed mail addresses, telephone and card numbers, keys of services and what follows `password:` become a block, and the
windows that they were typed into are black in the pictures from then on; rectangles are black in all pictures, or
between two times. The voice stays here unless it is asked for. The recording itself is not changed.
Expected result: FOLDER, a recording of its own, and one line that counts what was taken out.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import PATTERN
from tars_jax.pipelines.schema import section
from tars_jax.rules import Rule, field


@dataclasses.dataclass(frozen=True)
class ExportRecording:
    """The recording to export, and what is redacted."""

    recording: str = field("", "folder of the recording", Rule(bool, "the folder of a recording"))
    output: str = field("", "new folder of the redacted copy", Rule(bool, "a new folder"))
    rectangles: tuple[str, ...] = field(
        (), "rectangles to cover: x/y/width/height in pixels, or x/y/width/height/since/until between two seconds"
    )
    pattern: str = field(
        "", "regular expression of further texts to redact, such as names: (?i)mara|Kd-\\d{4,6}", PATTERN
    )
    cover_typed: bool = field(True, "whether windows are covered into which a matching text was typed")
    voice: bool = field(False, "whether the copy includes the voice")
    accessibility: bool = field(
        False, "whether the copy includes the windows' accessibility trees, with matching texts replaced"
    )


def get_config() -> ConfigDict:
    return section(ExportRecording)
