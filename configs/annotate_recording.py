"""A recording of a person at work becomes a reviewed data set: steps, words, thoughts, and a page to look at each step.

Command:  ./launch/local.sh annotate_recording --config.recording=REC

The page's address is printed once the voice has been listened to. Each change on it is on the disk at
once (RUN/annotation.json); "Write the data" leaves RUN/dataset, which `--config.annotation.datasets=RUN/dataset,` of
`flywheel` and `--config.demonstrations.datasets=RUN/dataset,` of others read. Ctrl-C ends it before that;
`--config.run=RUN --config.recording=REC` goes on where it was.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import PageAddress
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, field


@dataclasses.dataclass(frozen=True)
class AnnotateRecording(PageAddress, RunFields):
    """The recording that becomes a data set, and how speech is transcribed."""

    recording: str = field(
        "", "folder of the recording", Rule(bool, "the folder of a recording, as `record` leaves it")
    )
    task: str = field("", "instruction of the recorded task, where the recording lacks it or has it wrong")
    rest_minutes: float = field(
        10.0,
        "minutes without input, or of a suspended computer, after which a new task and trajectory begins, "
        'as after saying "the next task is to ..."; 0: only after saying it',
        at_least(0),
    )
    review: bool = field(
        True, "whether a person reviews the data set; False: it is written at once and marked as not reviewed"
    )
    speech: str = field(
        "embedded",
        "speech recognition: embedded, a small model of English that runs here; none; or the address of an "
        "OpenAI-compatible endpoint, http://HOST:PORT/v1, to which the voice is sent",
    )
    speech_model: str = field("whisper-1", "name of the endpoint's speech model")
    key_variable: str = field("OPENAI_API_KEY", "environment variable that holds the endpoint's API key")


def get_config() -> ConfigDict:
    return section(AnnotateRecording)
