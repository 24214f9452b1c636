"""Recordings of AgentNetTool and openadapt-capture become ours; ours become captures of openadapt-capture.

Commands:
  ./launch/local.sh convert_recording FOLDER --config.output=OURS     # what it is, is told by its files
  ./launch/local.sh convert_recording OURS --config.output=CAPTURE    # a recording of ours goes out

Seconds without a video; a video is decoded, which takes longer than it lasted on a busy machine.
Expected result: a line for what could not be kept, and one that says where it lies and how many events it has.
"""

import dataclasses
import os

from ml_collections import ConfigDict

from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, field


@dataclasses.dataclass(frozen=True)
class ConvertRecording(RunFields):
    """The recording to convert."""

    source: str = field("", "folder of the recording", Rule(os.path.isdir, "the folder of a recording"))
    output: str = field("", "new folder of the converted recording; empty: recording in the run directory")


def get_config() -> ConfigDict:
    return section(ConvertRecording)
