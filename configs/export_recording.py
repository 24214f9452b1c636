"""A recording without what should not leave this computer: a redacted copy in a new folder; seconds.

Command:  ./launch/local.sh export_recording REC FOLDER [--config.rectangles=0/0/300/40,100/200/400/30/12.5/80]

Typed mail addresses, telephone and card numbers, keys of services and what follows `password:` become a block, and the
windows that they were typed into are black in the pictures from then on; rectangles are black in all pictures, or
between two times. The voice stays here unless it is asked for. The recording itself is not changed.
Expected result: FOLDER, a recording of its own, and one line that counts what was taken out.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.schema import section
from tars_jax.rules import field


@dataclasses.dataclass(frozen=True)
class ExportRecording:
    recording: str = field("", "its folder")
    output: str = field("", "a folder that is not there yet")
    rectangles: tuple[str, ...] = field(
        (), "x/y/width/height each, in pixels; x/y/width/height/since/until: between two seconds"
    )
    pattern: str = field("", "A regular expression of further texts, such as names: (?i)mara|Kd-\\\\d{4,6}")
    cover_typed: bool = field(True, "False: windows that a text which matched was typed into are shown")
    voice: bool = field(False, "True: goes along")
    accessibility: bool = field(False, "True: windows' trees go along, with what matches replaced")


def get_config() -> ConfigDict:
    return section(ExportRecording)
