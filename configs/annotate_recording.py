"""A recording of a person at work becomes a reviewed data set: steps, words, thoughts, and a page to look at each step.

Command:  ./launch/local.sh annotate_recording --config.recording=REC

The page's address is printed once the voice has been listened to. Each change on it is on the disk at
once (RUN/annotation.json); "Write the data" leaves RUN/dataset, which `--config.annotation.datasets=RUN/dataset,` of
`flywheel` and `--config.demonstrations.datasets=RUN/dataset,` of others read. Ctrl-C ends it before that;
`--config.run=RUN --config.recording=REC` goes on where it was.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import ListenerFields
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field


@dataclasses.dataclass(frozen=True)
class AnnotateRecording(ListenerFields, RunFields):
    recording: str = field("", "its folder, as `record` leaves it")
    task: str = field("", "what was to be done, where the recording does not say it or says it wrongly")
    rest_minutes: float = field(
        10.0,
        "hands that rest for so long, or a suspended computer, end a task, and the next one is a "
        'trajectory of its own, as it is after "the next task is to ..."; 0: what is said alone',
        at_least(0),
    )
    review: bool = field(True, "False: the data set is written as it is, and says that nobody has looked")
    speech: str = field(
        "embedded",
        "embedded: a small model of English, which runs here; none: nobody listens; or the address of an "
        "endpoint of OpenAI's API, http://HOST:PORT/v1, which gets the voice",
    )
    speech_model: str = field("whisper-1", "of an endpoint")
    key_variable: str = field("OPENAI_API_KEY", "the environment's variable that holds the key of an endpoint")


def get_config() -> ConfigDict:
    return section(AnnotateRecording)
